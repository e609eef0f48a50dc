package proof

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// TestWhereFalse returns a Provider.TestEvent that reports a delivery as a test if its body has
// false at the pointer.
func TestWhereFalse(pointer string) func(*provider.Request) bool {
	return func(r *provider.Request) bool {
		value, err := (&Document{R: r}).At(pointer)
		return err == nil && value.Type == gjson.False
	}
}

// TestWherePrefix returns a Provider.TestEvent that reports a delivery as a test if the field f
// begins with prefix, in upper or lower case.
func TestWherePrefix(f Field, prefix string) func(*provider.Request) bool {
	return func(r *provider.Request) bool {
		text, err := f.Find(&Document{R: r})
		return err == nil && len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
	}
}
