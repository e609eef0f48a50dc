package prooftest

import "time"

// SNSTopic is the topic of the messages that SNS signs in the tests. SNSHost is the URL of SNS in
// the topic's region.
const (
	SNSTopic = "arn:aws:sns:us-east-1:123456789012:orders"
	SNSHost  = "https://sns.us-east-1.amazonaws.com/"
)

// PublishedSNS returns SNS's certificates and the response to a subscription confirmation, by URL.
func PublishedSNS() Published {
	const name = "sns.amazonaws.com"
	return Published{
		SNSHost + "SimpleNotificationService-hooklatch.pem":                       SelfSigned(name, RSAKey(), Now().AddDate(1, 0, 0)),
		SNSHost + "SimpleNotificationService-old.pem":                             SelfSigned(name, RSAKey(), Now().Add(-time.Second)),
		SNSHost + "SimpleNotificationService-ecdsa.pem":                           SelfSigned(name, ECDSAKey(), Now().AddDate(1, 0, 0)),
		SNSHost + "SimpleNotificationService-none.pem":                            []byte("hello"),
		SNSHost + "?Action=ConfirmSubscription&TopicArn=" + SNSTopic + "&Token=t": []byte("<ConfirmSubscriptionResponse/>"),
	}
}
