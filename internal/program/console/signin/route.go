package signin

// Route is an address of the listener, with who may ask for it.
type Route struct {
	Pattern string // as http.ServeMux takes it
	Role    Role
	// Open is true for what everybody may ask for, known or not.
	Open bool
}
