package main

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// mailAddress is enough of an address to know it by (RFC 5322 allows more).
var mailAddress = regexp.MustCompile(`[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@|%40)([A-Za-z0-9-]+\.)+[A-Za-z]{2,}`)

// hideAddresses keeps mail addresses out of the log. Senders put them into ids,
// and receivers into errors; logs go to more places, and stay longer, than the
// database, where the whole id stands. What follows the @ remains, and with it
// enough to see whose system an id is of.
func hideAddresses(a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(withoutAddresses(a.Value.String()))
	case slog.KindAny:
		// Errors and texts; what else there is has no addresses in it.
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(withoutAddresses(v.Error()))
		case fmt.Stringer:
			a.Value = slog.StringValue(withoutAddresses(v.String()))
		}
	}
	return a
}

func withoutAddresses(text string) string {
	if !strings.Contains(text, "@") && !strings.Contains(text, "%40") {
		return text
	}
	return mailAddress.ReplaceAllStringFunc(text, func(address string) string {
		at := strings.LastIndex(address, "@")
		if at < 0 {
			at = strings.LastIndex(address, "%40")
		}
		return "***" + address[at:]
	})
}
