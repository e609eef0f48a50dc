package catalog

import (
	"strings"
)

// SecretVariable returns the environment variable that pages and commands use for a provider's
// secret.
func SecretVariable(name string) string {
	name = strings.TrimSuffix(name, "-webhooks")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_WEBHOOK_SECRET"
}
