// Package panicked describes a panic without the arguments of the call.
package panicked

import (
	"fmt"
	"runtime"
	"strings"
)

// Text describes a recovered value, for the deferred function that recovered it: the type
// and the place of the panic. It keeps the value's own text only if the runtime made it:
// any other text may quote a body or a secret (I12).
func Text(value any) string {
	text := fmt.Sprintf("%T", value)
	if fault, ok := value.(runtime.Error); ok {
		text = fault.Error()
	}
	return fmt.Sprintf("panic: %s at %s", text, site())
}

// site names the function and line of the panic: the first frame above the runtime's own.
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
