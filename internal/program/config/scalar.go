package config

import (
	"encoding"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

// asScalar returns the text of a scalar as written in the file.
func asScalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return unmask.Replace(n.Value), true
	case *ast.LiteralNode:
		return unmask.Replace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, true
	default:
		return "", false
	}
}

func isScalar(node ast.Node) bool {
	_, ok := asScalar(node)
	return ok
}

// scalar decodes one value that is neither a list nor a mapping.
func (d *decoder) scalar(node ast.Node, path string, target reflect.Value) {
	given, ok := asScalar(node)
	if !ok {
		d.reportf(path, "is %s; one value is expected", describe(node))
		return
	}
	if !d.checkBare(path, given, target.Type() == secretType) {
		return
	}
	text, expanded, err := expand(given, d.env)
	if err != nil {
		d.reportf(path, "%s", err)
		return
	}
	if target.Type() == secretType {
		if expanded && envReference.FindString(given) == given {
			d.expanded[path] = given // the text is only a reference, and contains no secret
		}
		d.secret(node, path, text, target)
		d.origin.secrets = d.origin.secrets || !expanded && !isPublic(path, text)
		return
	}
	isText := node.Type() == ast.StringType || node.Type() == ast.LiteralType
	if expanded {
		d.expanded[path] = given
	}
	shown := given
	if isText {
		shown = d.show(path, given)
	}
	if text == "off" && strings.HasSuffix(path, ".tolerance") {
		text = "-1ns" // provider.Options represents off like this
	}
	if problem := setScalar(target, text, isText, isText && !expanded); problem != "" {
		d.reportf(path, "%s %s", shown, problem)
	} else if target.IsZero() && (target.CanInt() || target.CanFloat()) {
		d.zeros[path] = shown
	}
}

// checkZeros reports each 0 that would be replaced by a default.
func (d *decoder) checkZeros(c *Config) {
	if len(d.zeros) == 0 {
		return
	}
	for _, s := range settingsIn("", printer{}.value("", reflect.ValueOf(*c))) {
		if given, is := d.zeros[s.Field]; is {
			d.reportf(s.Field, "%s would mean the default, %s; leave it out, or give a value above 0", given, s.Value)
		}
	}
}

// show quotes a value for a message. For a value from the environment it shows the text before
// expansion: the value itself may be a secret.
func (d *decoder) show(path, value string) string {
	if given, ok := d.expanded[path]; ok {
		return quote(given) + " from the environment"
	}
	return quote(value)
}

// setScalar stores text in target, or returns the fault of the text. isText is true for a YAML
// string, and false for a number or a boolean. literal is true for a string in the file itself,
// which cannot be a number or a boolean. The value of an environment variable can be one.
func setScalar(target reflect.Value, text string, isText, literal bool) (problem string) {
	if target.Type() == prefixType {
		v, err := parseNetwork(text)
		if err != nil {
			return "is not a network; allowed: one like 10.0.0.0/8 or fd00::/8, or a single address"
		}
		target.Set(reflect.ValueOf(v))
		return ""
	}
	if target.Type() == timeType {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "is not a time; allowed: one with its zone (RFC 3339), like 2026-12-01T00:00:00Z or 2026-12-01T01:00:00+01:00"
		}
		target.Set(reflect.ValueOf(v))
		return ""
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](target.Addr()); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return err.Error()
		}
		return ""
	}
	if target.Type() == durationType {
		v, err := parseDuration(text)
		if err != nil {
			return err.Error()
		}
		target.SetInt(int64(v))
		return ""
	}
	switch target.Kind() {
	case reflect.String:
		if !isText {
			return "is not text; write it in quotes"
		}
		target.SetString(text)
		return ""
	case reflect.Bool:
		if literal || (text != "true" && text != "false") {
			return "is not a boolean; allowed: true, false, without quotes"
		}
		target.SetBool(text == "true")
		return ""
	case reflect.Int, reflect.Int64, reflect.Int32:
		v, err := strconv.ParseInt(text, 10, target.Type().Bits())
		if err != nil || literal {
			return "is not a whole number; allowed: digits without quotes, like 12"
		}
		target.SetInt(v)
		return ""
	case reflect.Float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || literal {
			return "is not a number; allowed: digits without quotes, like 0.5"
		}
		target.SetFloat(v)
		return ""
	default:
		return "cannot be set in a file"
	}
}

// parseNetwork parses a network. A single address becomes a network of one address.
func parseNetwork(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.Unmap().WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

// isPublic reports whether the value of a secret field is not secret: the URL of a database, a cell
// or a Redis server, without a password.
func isPublic(path, text string) bool {
	isURL := strings.HasPrefix(path, "database.") || strings.HasPrefix(path, "cells.") || path == "gateway.seen_cache.redis"
	if !isURL || strings.Contains(text, "password") {
		return false
	}
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	return !has
}

// secret stores a secret, or reports a mistake without quoting the secret's text.
func (d *decoder) secret(node ast.Node, path, text string, target reflect.Value) {
	if node.Type() == ast.LiteralType {
		text = strings.TrimRight(text, "\n") // a block scalar ends with a line break
	}
	switch {
	case node.Type() != ast.StringType && node.Type() != ast.LiteralType:
		d.reportf(path, "is %s; a secret is text: write it in quotes", describe(node))
	case text == "":
		d.reportf(path, "is empty; a secret must have a value")
	case text != strings.TrimSpace(text):
		d.reportf(path, "begins or ends with white space; a secret must not")
	case strings.Contains(text, byteOrderMark):
		d.reportf(path, "contains a byte order mark (U+FEFF); a secret must not")
	default:
		target.Set(reflect.ValueOf(secret.New(text)))
	}
}
