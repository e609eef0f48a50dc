package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Read yields the records of a history in order. It stops at the first error. The error names
// the line. The checker must not judge a history with an incomplete line.
func Read(r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewReaderSize(r, 1<<20)
		for n := 1; ; n++ {
			line, err := lines.ReadString('\n')
			if errors.Is(err, io.EOF) && strings.TrimSpace(line) == "" {
				return
			}
			var record Record
			if err == nil || errors.Is(err, io.EOF) {
				err = json.Unmarshal([]byte(line), &record)
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("read history: line %d: %w", n, err))
				return
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}
