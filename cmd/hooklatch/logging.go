package main

import (
	"log/slog"
	"strings"
)

// logger makes the logger the flags ask for; usual is the level without a flag.
func (g *globals) logger(p *process, usual slog.Level) (*slog.Logger, error) {
	level := usual
	if g.logLevel != "" {
		if err := level.UnmarshalText([]byte(g.logLevel)); err != nil || strings.ContainsAny(g.logLevel, "+-") {
			return nil, misused("--log-level %q is not a level; allowed: debug, info, warn, error", g.logLevel)
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	switch g.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(p.stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(p.stderr, opts)), nil
	case "auto":
		if p.terminal {
			return slog.New(slog.NewTextHandler(p.stderr, opts)), nil
		}
		return slog.New(slog.NewJSONHandler(p.stderr, opts)), nil
	}
	return nil, misused("--log-format %q is not a format; allowed: auto, text, json", g.logFormat)
}
