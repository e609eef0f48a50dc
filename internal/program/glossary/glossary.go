// Package glossary defines the terms in Hooklatch's texts, one word for one thing. The console's
// help page and docs/glossary.md are rendered from it, and a test checks all texts against it.
package glossary

// Term is a word with one meaning in all texts.
type Term struct {
	Name string
	// Means is the term's definition, in a sentence or two.
	Means string
	// Not are phrases for the same thing that texts must not use.
	Not []string
}

// Terms returns all terms in reading order.
func Terms() []Term {
	return []Term{
		{Name: "Sender", Means: "A system that delivers webhooks, such as Stripe or a service of your own."},
		{Name: "Provider", Means: "The kind of sender. It decides how a delivery is verified and where its event ids are."},
		{Name: "Source", Means: "One endpoint of the gateway, with a provider and its secrets."},
		{Name: "Delivery", Means: "One HTTP request of a sender. It carries one event, or a batch of them."},
		{
			Name: "Event", Means: "Something that happened at the sender. It is accepted once, however often it is delivered.",
		},
		{
			Name: "Duplicate", Means: "A delivery of an event that is already stored. The gateway answers it with success, and it causes no effects. The duplicate rate is the share of such deliveries.",
			Not: []string{"came before", "comes again", "came again", "known already"},
		},
		{
			Name: "Quarantine", Means: "The store of refused deliveries that may be genuine. They are kept for seven days, within limits, and can be verified again.",
		},
		{Name: "Route", Means: "A rule of the configuration that decides which events lead to an effect at which destination. The current routes are those of the loaded configuration.", Not: []string{"routes of now", "routes of today", "wants it"}},
		{Name: "Handler", Means: "A Go function that processes events inside a database transaction."},
		{Name: "Dispatch", Means: "The step that turns an accepted event into effects, in one transaction."},
		{Name: "Destination", Means: "A system that Hooklatch calls: an HTTP endpoint, a mail server, a database or a message broker."},
		{Name: "Effect", Means: "One action at a destination, caused by an event or enqueued by your application: a request, an email, an SQL statement or a message. It keeps one body for all attempts and, by default, one idempotency key."},
		{Name: "Attempt", Means: "One try to apply an effect. The first-attempt failure rate is the share of effects whose first attempt failed.", Not: []string{"share of first attempts that failed"}},
		{Name: "In doubt", Means: "The state of an effect whose request was sent and whose outcome is unknown. It is attempted again with the same key; an at_most_once effect is parked instead."},
		{Name: "Parked", Means: "The state of an effect that is set aside until an operator retries or cancels it, for example because its attempts are used up.", Not: []string{"waits for a person", "wait for a person"}},
		{Name: "Failed", Means: "The state of an effect that the destination refused, permanently or at the last attempt, and of an event whose last dispatch failed."},
		{Name: "Skipped", Means: "The state of an event that matched no route and no handler."},
		{Name: "Held", Means: "The state of an event that the replay guard holds back until an operator releases or drops it."},
		{Name: "Breaker", Means: "A switch that pauses a destination while its attempts fail. Probes detect when the destination works again."},
		{
			Name: "Operator", Means: "A user who acts through the command line, the console or the API. Every operator action is recorded with the user who requested it.",
			Not: []string{"what people ordered", "what a person ordered", "who ordered it"},
		},
		{
			Name: "Bulk run", Means: "An operator action that is applied to every match of a filter. It is stored in the database and carried out by any worker. It can be paused, resumed and stopped.",
			Not: []string{"order about many", "orders about many", "worked off", "works off", "gone on with", "stands in the database"},
		},
		{Name: "Needs attention", Means: "The state of an event, effect, source or destination that stays as it is until an operator acts. The overview, the alerts and the status command list all of them.", Not: []string{"needs a person", "need a person"}},
		{Name: "Alert", Means: "A condition that needs attention. It fires when the condition begins, notifies the configured receivers, and resolves when the condition ends.", Not: []string{"told at once", "tell nobody"}},
		{Name: "Backfill", Means: "The reading of a provider's list of events or deliveries, to fetch events that its webhooks did not deliver. One reading of the list is a pass."},
		{Name: "Retention", Means: "The time for which rows are kept. Expired rows are deleted.", Not: []string{"past its time", "past their time", "time was over"}},
		{Name: "Erasure", Means: "The removal of personal data from stored events and effects. Their keys stay, so that duplicates are still recognised."},
	}
}
