package provider

// About is what people must know of a sender. The pages of docs/providers and
// the command `hooklatch providers` show it.
type About struct {
	// Confirmed is how sure the facts are on which the provider rests: the
	// worst of them counts.
	Confirmed Confirmation
	// Signing says in plain words how the sender proves who it is.
	Signing string
	// KeyRule says in plain words what makes two deliveries the same event.
	KeyRule string
	// Setup are the steps at the sender's side, in order, with the place where
	// the secret is found. {url} stands for the URL of the endpoint.
	Setup []string
	// Notes are pitfalls.
	Notes []string
	// Backfill says how what was missed is found at the sender. Empty: not at
	// all.
	Backfill string
	// Docs is the URL of the sender's own documentation.
	Docs string
}

// Confirmation says where facts come from.
type Confirmation string

// From best to worst.
const (
	// Confirmed in the sender's documentation, or in its own libraries and
	// their tests.
	Confirmed Confirmation = "confirmed"
	// Secondary sources only: code and texts of others that quote the sender.
	Secondary Confirmation = "secondary"
	// Unconfirmed: general knowledge that could not be checked. A default to
	// verify before relying on it.
	Unconfirmed Confirmation = "unconfirmed"
)
