package gateway

import (
	"slices"
	"strings"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

// Values of the label "reason" of hooklatch.provider.retries in addition to retryReasons.
const (
	retryUnstated = "unstated" // the sender gives no reason
	retryOther    = "other"    // an unknown reason
)

// retryReasons lists the senders' known reasons, in lower case. The set is fixed: most senders
// do not sign the reason, and a label must not grow without limit.
var retryReasons = []string{
	"http_timeout", "http_error", "connection_failed", "too_many_redirects", "ssl_error", "unknown_error", "timeout",
}

// retryReason returns the label for a reason in the sender's words.
func retryReason(given string) string {
	if given == "" {
		return retryUnstated
	}
	given = strings.ToLower(given)
	if slices.Contains(retryReasons, given) {
		return given
	}
	return retryOther
}

// retry reads the sender's information about the attempt. Number is at least 1 if the sender
// reports a redelivery.
func (s *source) retry(request *provider.Request) provider.RetryInfo {
	if s.Provider.Retry == nil {
		return provider.RetryInfo{}
	}
	info := s.Provider.Retry(request)
	if info.Redelivery {
		info.Number = max(info.Number, 1)
	}
	return info
}
