package catalog

import (
	"strings"
)

// SecretVariable is the environment variable that pages and commands name for
// the secret of a provider, one and the same everywhere.
func SecretVariable(name string) string {
	name = strings.TrimSuffix(name, "-webhooks")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_WEBHOOK_SECRET"
}
