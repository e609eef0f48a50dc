package provider

// AnswerOptions is the answer to a proven delivery, where the sender accepts no other.
type AnswerOptions struct {
	// Status of the answer, 200 to 299. Defaults to 200.
	Status int `yaml:"status,omitempty"`
	// Body of the answer, at most 4 KiB. An empty body also leaves the body out of
	// refusals. Defaults to empty.
	Body string `yaml:"body,omitempty"`
	// Headers of the answer. Content-Type defaults to text/plain if there is a body.
	Headers map[string]string `yaml:"headers,omitempty"`
}

// ProbeOptions are the requests by which a sender tests the endpoint. A probe is
// answered 200, and no event is ever accepted from one.
type ProbeOptions struct {
	// Methods of probes, besides the POST of deliveries: HEAD, GET or OPTIONS. OPTIONS
	// also grants the permission of CloudEvents web hooks. Defaults to GET with
	// echo.query, else to none.
	Methods []string `yaml:"methods,omitempty"`
	// Unsigned answers a POST without a signature that is a ping: one without a body, or a
	// form with a single short field. Defaults to false.
	Unsigned bool `yaml:"unsigned,omitempty"`
	// Echo is the value of the probe that its answer repeats. Defaults to nothing.
	Echo EchoOptions `yaml:"echo,omitempty"`
}

// EchoOptions name the value that the answer to a probe repeats. At most one of them is
// set. A POST is a probe only if no event can be found in it.
type EchoOptions struct {
	// Query is a parameter of the URL. The answer is its value as plain text.
	Query string `yaml:"query,omitempty"`
	// Header is a header of the request. The answer has the same header and no body.
	Header string `yaml:"header,omitempty"`
	// Field is a JSON pointer into the body. The answer is a JSON object that contains
	// only this value, at the same place.
	Field string `yaml:"field,omitempty"`
}
