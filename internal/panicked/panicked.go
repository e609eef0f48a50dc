// Package panicked describes a panic by its type and its position, without the arguments of any
// function.
package panicked

import (
	"fmt"
	"runtime"
	"strings"
)

// Text describes a recovered value: its type and the panic's position in the code. Call it in
// the deferred function that recovers. It keeps the value's own text only if the runtime
// created it: any other text may quote a body or a secret (I12).
func Text(value any) string {
	text := fmt.Sprintf("%T", value)
	if fault, ok := value.(runtime.Error); ok {
		text = fault.Error()
	}
	return fmt.Sprintf("panic: %s at %s", text, site())
}

// site returns the function and line at which the panic began: the frame that called into the
// runtime.
func site() string {
	var counters [64]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters[:])])
	panicking := false
	for {
		frame, more := frames.Next()
		ofRuntime := strings.HasPrefix(frame.Function, "runtime.")
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !ofRuntime:
			return fmt.Sprintf("%s:%d", frame.Function, frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}
