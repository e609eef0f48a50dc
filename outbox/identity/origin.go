package identity

// Origin is how an event was received. It also says what proves the event (I3).
type Origin string

// The values of Origin.
const (
	Webhook  Origin = "webhook"  // delivered by the provider, proven by its signature
	Backfill Origin = "backfill" // fetched from the API of the provider with the credential of the source
	Import   Origin = "import"   // accepted by another system; only its key is stored
)
