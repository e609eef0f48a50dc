package retention

// What is one kind of rows that retention deletes.
type What string

// The kinds, in the order in which they go.
const (
	Payloads   What = "payloads"   // deliveries, by the day
	Events     What = "events"     // of one source
	Imports    What = "imports"    // keys that were imported, of one source
	Guards     What = "guards"     // replay guards of one source
	Contents   What = "contents"   // content guards whose window is over
	Effects    What = "effects"    // that have ended
	Details    What = "details"    // links, attempts and transitions, by the day
	Replays    What = "replays"    // which events were replayed
	Versions   What = "versions"   // the newest effect applied to each object of latest_by
	Operations What = "operations" // what people ordered
)
