package programs

import (
	"os"
	"strings"
	"sync"
)

// endSize is how much of the end of a log stands in messages, in bytes.
const endSize = 8 << 10

// log is what the processes of one program print, in a file of bounded size: the
// older half makes room, as path.old, whenever it is full. A log that cannot be
// written stops nobody.
type log struct {
	path  string // empty: only the end is kept
	limit int64  // of both files together, bytes

	mu      sync.Mutex
	written int64 // to the file that is being written
	last    []byte
}

// Write implements io.Writer for a process. It opens the file each time: a
// program that never runs again holds no file.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, b...)
	if extra := len(l.last) - endSize; extra > 0 {
		l.last = append(l.last[:0], l.last[extra:]...)
	}
	if l.path == "" {
		return len(b), nil
	}
	if l.written+int64(len(b)) > l.limit/2 && l.written > 0 {
		_ = os.Rename(l.path, l.path+".old") // else the file grows, which is no reason to stop
		l.written = 0
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return len(b), nil
	}
	n, _ := file.Write(b) // as above
	_ = file.Close()      // as above
	l.written += int64(n)
	return len(b), nil
}

// end is what was printed last.
func (l *log) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.last))
}
