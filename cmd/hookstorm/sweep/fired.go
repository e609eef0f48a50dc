package sweep

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// firedLog is the file to which all processes append each fault before it strikes.
type firedLog struct {
	path string

	mu   sync.Mutex
	read int64 // bytes read so far
}

// next returns the visits made since the last call.
func (l *firedLog) next() ([]Visit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no process has passed a place yet
	}
	if err != nil {
		return nil, fmt.Errorf("read the fired faults: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(l.read, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the fired faults: %w", err)
	}
	var visits []Visit
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadString('\n')
		if err != nil { // the next call reads an incomplete line
			return visits, nil
		}
		var v Visit
		if _, err := fmt.Sscan(strings.TrimSpace(line), &v.Place, &v.Action, &v.Passage); err != nil {
			return visits, fmt.Errorf("read the fired faults: line %q: %w", line, err)
		}
		visits = append(visits, v)
		l.read += int64(len(line))
	}
}
