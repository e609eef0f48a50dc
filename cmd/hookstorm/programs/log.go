package programs

import (
	"os"
	"strings"
	"sync"
)

// endSize is the length of the log excerpt in messages, in bytes.
const endSize = 8 << 10

// log is the output of one program's processes, in a file of bounded size. Whenever the file is
// full, log moves it to path.old. A log that cannot be written blocks no process.
type log struct {
	path  string // if empty, only the end is kept
	limit int64  // total size of both files, in bytes

	mu      sync.Mutex
	written int64 // bytes written to the current file
	last    []byte
}

// Write implements io.Writer for a process. It opens the file each time, so that a program
// that never runs again holds no open file.
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
		_ = os.Rename(l.path, l.path+".old") // after an error the file exceeds its limit, and the process continues
		l.written = 0
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return len(b), nil
	}
	n, _ := file.Write(b) // a write error must not stop the process
	_ = file.Close()      // a close error must not stop the process
	l.written += int64(n)
	return len(b), nil
}

// end returns the last endSize bytes of the output, without surrounding white space.
func (l *log) end() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.last))
}
