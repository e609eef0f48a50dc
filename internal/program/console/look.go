package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a server may have no time zone data
)

// lookCookie is the name of the cookie that stores the user's chosen appearance. The cookie is not
// a secret, and affects nothing else.
const lookCookie = "hooklatch_look"

// look is the time zone and the colour theme of the pages.
type look struct {
	Zone  string // name in the IANA database; empty for UTC
	Theme string // light or dark; empty for the system's theme
}

var themes = []string{"", "light", "dark"}

// lookOf returns the chosen look. Invalid values are ignored.
func lookOf(r *http.Request) look {
	cookie, err := r.Cookie(lookCookie)
	if err != nil {
		return look{}
	}
	values, err := url.ParseQuery(cookie.Value)
	if err != nil {
		return look{}
	}
	l, _ := readLook(values)
	return l
}

// readLook reads the valid values, and reports whether all values were valid.
func readLook(values url.Values) (look, bool) {
	l := look{Zone: strings.TrimSpace(values.Get("zone")), Theme: values.Get("theme")}
	valid := true
	if _, err := time.LoadLocation(l.Zone); err != nil || l.Zone == "Local" || len(l.Zone) > 64 {
		l.Zone, valid = "", false
	}
	if !slices.Contains(themes, l.Theme) {
		l.Theme, valid = "", false
	}
	return l, valid
}

func (l look) location() *time.Location {
	location, err := time.LoadLocation(l.Zone)
	if err != nil {
		return time.UTC
	}
	return location
}

// ZoneName returns the name of the chosen zone.
func (l look) ZoneName() string {
	if l.Zone == "" {
		return "UTC"
	}
	return l.Zone
}

// chooseLook stores the chosen look, and redirects to the page on which the user chose it.
func chooseLook(r *request) error {
	if err := r.ParseForm(); err != nil {
		return unreadableForm()
	}
	chosen, valid := readLook(r.PostForm)
	if !valid {
		return &problem{
			status: http.StatusBadRequest, heading: "Unknown time zone or theme",
			text: "Enter a time zone from the IANA database, such as Europe/Berlin, America/New_York or UTC, and choose a theme from the list.",
		}
	}
	http.SetCookie(r.w, &http.Cookie{ //nolint:gosec // not Secure: a loopback address has no TLS, and the cookie is not a secret
		Name: lookCookie, Value: url.Values{"zone": {chosen.Zone}, "theme": {chosen.Theme}}.Encode(),
		Path: r.base + "/", MaxAge: int((365 * 24 * time.Hour).Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
	http.Redirect(r.w, r.Request, r.local(r.PostForm.Get("from")), http.StatusSeeOther)
	return nil
}
