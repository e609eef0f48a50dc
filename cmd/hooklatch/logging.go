package main

import (
	"log/slog"
	"strings"

	"github.com/hooklatch/hooklatch/outbox/logkey"
	"github.com/hooklatch/hooklatch/outbox/tracing"
)

// logger makes the logger the flags ask for; usual is the level without a flag.
func (g *globals) logger(p *process, usual slog.Level) (*slog.Logger, error) {
	level := usual
	if g.logLevel != "" {
		if err := level.UnmarshalText([]byte(g.logLevel)); err != nil || strings.ContainsAny(g.logLevel, "+-") {
			return nil, misused("--log-level %q is not a level; allowed: debug, info, warn, error", g.logLevel)
		}
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: fitForALog}
	var lines slog.Handler
	switch {
	case g.logFormat == "text", g.logFormat == "auto" && p.terminal:
		lines = slog.NewTextHandler(p.stderr, opts)
	case g.logFormat == "json", g.logFormat == "auto":
		lines = slog.NewJSONHandler(p.stderr, opts)
	default:
		return nil, misused("--log-format %q is not a format; allowed: auto, text, json", g.logFormat)
	}
	return slog.New(tracing.LogHandler(lines)), nil
}

// fitForALog is what becomes of every attribute.
func fitForALog(groups []string, a slog.Attr) slog.Attr {
	return hideAddresses(onOneLine(groups, a))
}

// onOneLine joins the lines of an error: pgx tells of each address it tried on
// a line of its own, which a log would show as "\n\t".
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

// singleLine joins lines with a semicolon, or a space after a colon.
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
