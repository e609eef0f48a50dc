package provider

// AnswerOptions set the response to a verified delivery, for a sender that accepts no other
// response.
type AnswerOptions struct {
	// Status of the response, 200 to 299. Defaults to 200.
	Status int `yaml:"status,omitempty"`
	// Body of the response, at most 4 KiB. If it is empty, refusals have no body either.
	// Defaults to empty.
	Body string `yaml:"body,omitempty"`
	// Headers of the response. Content-Type defaults to text/plain if there is a body.
	Headers map[string]string `yaml:"headers,omitempty"`
}

// ProbeOptions describe the requests by which a sender tests the endpoint. A probe gets a 200
// response, and no event is ever accepted from it.
type ProbeOptions struct {
	// Methods of probes, in addition to the POST of deliveries: HEAD, GET or OPTIONS. The response
	// to OPTIONS also grants the permission that a CloudEvents sender asks for. Defaults to GET
	// with echo.query, otherwise none.
	Methods []string `yaml:"methods,omitempty"`
	// If true, the gateway answers unsigned pings: a POST without a body, or a form with a single
	// short field. Defaults to false.
	Unsigned bool `yaml:"unsigned,omitempty"`
	// Echo is the part of the probe that the response repeats. Defaults to nothing.
	Echo EchoOptions `yaml:"echo,omitempty"`
}

// EchoOptions select the value that the response to a probe repeats. At most one field is set.
// A POST is a probe only if it contains no event.
type EchoOptions struct {
	// Query is a parameter of the URL. The response is the parameter's value as plain
	// text.
	Query string `yaml:"query,omitempty"`
	// Header is a header of the request. The response has the same header and no body.
	Header string `yaml:"header,omitempty"`
	// Field is a JSON pointer into the body. The response is a JSON object that contains
	// only this value, at the same location.
	Field string `yaml:"field,omitempty"`
}
