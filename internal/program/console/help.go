package console

import "net/http"

type helpPage struct {
	view

	Keys []key
}

// key is a shortcut.
type key struct{ Keys, What string }

// help lists keys and words.
func showHelp(r *request) error {
	return r.render(http.StatusOK, "help", helpPage{view: r.view("help", "Help"), Keys: []key{
		{"/", "jump to an event, an effect or a source"},
		{"f", "the first field of the filter"},
		{"j k", "next and previous row"},
		{"Enter", "open the row"},
		{"g o", "overview"},
		{"g e", "events"},
		{"g f", "effects"},
		{"g d", "destinations"},
		{"g s", "sources"},
		{"g q", "quarantine"},
		{"g r", "bulk runs"},
		{"g a", "what people ordered, for admins"},
		{"]", "older"},
		{"[", "the newest"},
		{"r", "retry, with a question first"},
		{"p", "stop what updates by itself, and let it go on"},
		{"Esc", "leave a field, close a question"},
		{"?", "this page"},
	}})
}
