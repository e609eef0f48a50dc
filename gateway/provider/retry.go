package provider

// RetryInfo is the sender's description of an attempt. The zero value describes a first attempt, or
// an attempt without a description.
type RetryInfo struct {
	// Number is the retry's number: 0 for the first attempt, 1 for the first retry.
	Number int
	// Reason is the retry's reason in the sender's words: printable, at most 64 bytes.
	Reason string
	// Redelivery is true if the sender reports that it sent the event before.
	Redelivery bool
	// Token identifies a delivery across all its attempts: printable, at most 64 bytes.
	Token string
}
