package provider

// RetryInfo is the sender's description of an attempt. The zero value is a first
// attempt, or no description.
type RetryInfo struct {
	// Number of the retry: 0 for the first attempt, 1 for the first retry.
	Number int
	// Reason of the retry in the sender's words: printable, at most 64 bytes.
	Reason string
	// Redelivery: the sender says that it sent the event before.
	Redelivery bool
	// Token names a delivery over all of its attempts: printable, at most 64
	// bytes.
	Token string
}
