package signin

// Route is an address of the listener, with its required role.
type Route struct {
	Pattern string // pattern for http.ServeMux
	Role    Role
	// Open is true if the address needs no authentication.
	Open bool
}
