package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/hooklatch/hooklatch/internal/logkey"
	"github.com/hooklatch/hooklatch/internal/noun"
	"github.com/hooklatch/hooklatch/internal/program/logqueue"
	"github.com/hooklatch/hooklatch/internal/tracing"
)

// logger returns the logger that --log-level and --log-format select; usual is the level without
// --log-level. Only commands that run until they are stopped may call logger. After the call,
// stdout and stderr drop lines instead of waiting for a slow reader.
func (c *cli) logger(usual slog.Level) (*slog.Logger, error) { return c.loggerTo(usual, c.outputs) }

// loggerTo is like logger, for commands whose results must be complete: only the given outputs drop
// lines instead of waiting for a slow reader.
func (c *cli) loggerTo(usual slog.Level, outputs []*logqueue.Queue) (*slog.Logger, error) {
	level := usual
	if c.logLevel != "" {
		if err := level.UnmarshalText([]byte(c.logLevel)); err != nil || strings.ContainsAny(c.logLevel, "+-") {
			return nil, misused("--log-level %q: allowed are debug, info, warn and error", c.logLevel)
		}
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: fitForALog}
	var lines func(io.Writer) slog.Handler
	switch {
	case c.logFormat == "text", c.logFormat == "auto" && c.terminal:
		lines = func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, opts) }
	case c.logFormat == "json", c.logFormat == "auto":
		lines = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, opts) }
	default:
		return nil, misused("--log-format %q: allowed are auto, text and json", c.logFormat)
	}
	logger := slog.New(tracing.LogHandler(lines(c.Stderr)))
	if len(outputs) > 0 {
		detachOutput(outputs, func(n int64) []byte { return droppedLine(lines, n) }, logger)
	}
	return logger, nil
}

// droppedLine returns the log line that reports n dropped lines. It is written at every log level.
func droppedLine(lines func(io.Writer) slog.Handler, n int64) []byte {
	var b bytes.Buffer
	r := slog.NewRecord(time.Now(), slog.LevelWarn, noun.Counted(n, "log line")+" dropped: the reader of the log was too slow or gone", 0)
	r.AddAttrs(slog.Int64(logkey.Count, n))
	_ = lines(&b).Handle(context.Background(), r) // writing to a buffer never fails
	return b.Bytes()
}

// fitForALog puts an error on one line, and hides email addresses in all attributes.
func fitForALog(groups []string, a slog.Attr) slog.Attr {
	return hideAddresses(onOneLine(groups, a))
}

// onOneLine joins the lines of an error. pgx reports each tried address on a separate line, and a
// log would show the line breaks as "\n\t".
func onOneLine(_ []string, a slog.Attr) slog.Attr {
	if a.Key != logkey.Err {
		return a
	}
	text := a.Value.String()
	if err, ok := a.Value.Any().(error); ok {
		text = err.Error()
	}
	return slog.String(a.Key, singleLine(text))
}

// singleLine joins lines with a semicolon, or with a space if the first of two lines ends with a
// colon.
func singleLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case strings.HasSuffix(b.String(), ":"):
			b.WriteByte(' ')
		case b.Len() > 0:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}
