package cli

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// mailAddress matches common email addresses (RFC 5322 allows more).
var mailAddress = regexp.MustCompile(`[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@|%40)([A-Za-z0-9-]+\.)+[A-Za-z]{2,}`)

// hideAddresses keeps email addresses out of the log. Senders put addresses into ids, and receivers
// put them into errors. Logs are copied to more systems than the database is, and are kept longer.
// The database keeps the whole id. The part after the @ stays, because it shows which system an id
// comes from.
func hideAddresses(a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(withoutAddresses(a.Value.String()))
	case slog.KindAny:
		// Only errors and texts can contain addresses.
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
