package signin

// Route is an address of the listener, with its required role.
type Route struct {
	Pattern string // as http.ServeMux takes it
	Role    Role
	// Open is true for an address that needs no authentication.
	Open bool
}
