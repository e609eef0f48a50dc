package identity

// Origin is the way an event was received. It also determines how the event was authenticated (I3).
type Origin string

// The values of Origin.
const (
	Webhook  Origin = "webhook"  // delivered by the provider, authenticated by its signature
	Backfill Origin = "backfill" // fetched from the provider's API with the source's credential
	Import   Origin = "import"   // accepted by another system; only its key is stored
)
