package signin

// Route is a path of the listener, with its required role.
type Route struct {
	Pattern string // pattern for http.ServeMux
	Role    Role
	// Open is true if the route needs no authentication.
	Open bool
}
