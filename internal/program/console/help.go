package console

import (
	"net/http"

	"github.com/hooklatch/hooklatch/internal/program/glossary"
)

type helpPage struct {
	view

	Keys  []key
	Terms []glossary.Term
}

// key is a keyboard shortcut.
type key struct{ Keys, What string }

// showHelp shows the shortcuts and terms.
func showHelp(r *request) error {
	return r.render(http.StatusOK, "help", helpPage{view: r.view("help", "Help"), Terms: glossary.Terms(), Keys: []key{
		{"/", "find an id, a key, a name or any text"},
		{"f", "the filter's first field"},
		{"j k", "next and previous row"},
		{"Enter", "open the row"},
		{"x", "select the row, for an action on several rows"},
		{"g o", "overview"},
		{"g e", "events"},
		{"g l", "live events"},
		{"g f", "effects"},
		{"g t", "routes"},
		{"g d", "destinations"},
		{"g s", "sources"},
		{"g q", "quarantine"},
		{"g n", "numbers over time"},
		{"g r", "bulk runs"},
		{"g a", "operator actions, for admins"},
		{"]", "older"},
		{"[", "newest"},
		{"r", "retry, after a confirmation"},
		{"p", "pause or resume automatic updates"},
		{"Esc", "leave a field or close a dialog"},
		{"?", "this page"},
	}})
}
