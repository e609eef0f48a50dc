package identity

// Origin is how an event came. It says what proves it, too (I3).
type Origin string

// The values of Origin.
const (
	Webhook  Origin = "webhook"  // delivered by the provider, proven by its signature
	Backfill Origin = "backfill" // fetched from the API of the provider with the credential of the source
	Import   Origin = "import"   // another system accepted it: nothing but its key is here
)
