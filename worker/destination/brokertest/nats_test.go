package brokertest

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/freeport"
	"github.com/hooklatch/hooklatch/outbox/ledger"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker/destination"
)

// natsServer is a real NATS server with JetStream, and with a stream for the subjects events.>.
type natsServer struct {
	options server.Options
	running *server.Server
}

func newNATS(t *testing.T, change ...func(*server.Options)) *natsServer {
	t.Helper()
	ports, err := freeport.Find(1)
	require.NoError(t, err)
	everything := &server.SubjectPermission{Allow: []string{">"}}
	n := &natsServer{options: server.Options{
		Host: "127.0.0.1", Port: ports[0], NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
		Users: []*server.User{
			{Username: "admin", Password: "admin"},
			{Username: user, Password: password, Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Allow: []string{"events.>", "nobody.>"}}, Subscribe: everything,
			}},
		},
	}}
	for _, f := range change {
		f(&n.options)
	}
	n.start(t)
	t.Cleanup(func() { n.kill(t) })
	_, err = n.admin(t).CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "EVENTS", Subjects: []string{"events.>"}, Duplicates: time.Minute,
	})
	require.NoError(t, err)
	return n
}

func (n *natsServer) server() string { return net.JoinHostPort("127.0.0.1", portText(n.options.Port)) }

func (n *natsServer) start(t *testing.T) {
	t.Helper()
	var err error
	options := n.options // a copy, because the server changes its options
	n.running, err = server.NewServer(&options)
	require.NoError(t, err)
	n.running.Start()
	require.True(t, n.running.ReadyForConnections(2*time.Minute))
}

func (n *natsServer) kill(*testing.T) {
	n.running.Shutdown()
	n.running.WaitForShutdown()
}

func (n *natsServer) admin(t *testing.T) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect("nats://"+n.server(), nats.UserInfo("admin", "admin"), nats.Timeout(time.Minute))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Minute))
	require.NoError(t, err)
	return js
}

func (n *natsServer) sender(o destination.BrokerOptions) (sender, error) {
	return destination.NewNATS(destination.NATSOptions{BrokerOptions: o, Subject: "events.paid"})
}

func (n *natsServer) stored(t *testing.T) []stored {
	t.Helper()
	stream, err := n.admin(t).Stream(t.Context(), "EVENTS")
	require.NoError(t, err)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	var all []stored
	for i := info.State.FirstSeq; i <= info.State.LastSeq && info.State.Msgs > 0; i++ {
		message, err := stream.GetMsg(t.Context(), i)
		require.NoError(t, err)
		all = append(all, stored{key: message.Header.Get(nats.MsgIdHdr), body: string(message.Data), header: http.Header(message.Header)})
	}
	return all
}

func TestNATS(t *testing.T) { //nolint:paralleltest // a suite counts goroutines and kills its broker
	b, f := newNATS(t), facts{dedups: true, unroutable: "nobody.listens", denied: "secret.subject"}
	suite(t, b, f)
	policies(t, b, f)
}

// JetStream has its own responses, and some subjects and headers would act as commands.
func TestNATSJetStream(t *testing.T) { //nolint:paralleltest // a suite counts goroutines and kills its broker
	b := newNATS(t)
	js := b.admin(t)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "SMALL", Subjects: []string{"small.>"}, MaxMsgs: 1, MaxMsgSize: 200, Discard: jetstream.DiscardNew,
	})
	require.NoError(t, err)
	o := destination.BrokerOptions{Name: "queue", Servers: []string{b.server()}, Username: "admin", Password: secret.New("admin")}
	s, err := destination.NewNATS(destination.NATSOptions{BrokerOptions: o, Subject: "small.one"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })

	large := newEffect()
	large.Request.Body = make([]byte, 1000)
	out := s.Send(t.Context(), large)
	requireVerdict(t, ledger.VerdictRefused, out)
	require.EqualError(t, out.Err, "JetStream error 10054")
	require.Equal(t, "message size exceeds maximum allowed", out.Excerpt)

	small := newEffect()
	small.Request.Body, small.Event.Source = nil, ""
	small.Event.EventID = ""
	out = s.Send(t.Context(), small)
	requireVerdict(t, ledger.VerdictDone, out)
	require.Equal(t, "stream SMALL, sequence 1", out.Excerpt)
	out = s.Send(t.Context(), small)
	requireVerdict(t, ledger.VerdictDone, out)
	require.Equal(t, "stream SMALL, sequence 1, a duplicate", out.Excerpt)

	full := newEffect()
	full.Request.Body = nil
	full.Event.Source, full.Event.EventID = "", ""
	requireVerdict(t, ledger.VerdictNotApplied, s.Send(t.Context(), full))

	for _, subject := range []string{"$JS.API.STREAM.DELETE.SMALL", "small.*", "small.>", "small..x", "small. x", "_INBOX.x", "small."} {
		e := newEffect()
		e.Request.URL = subject
		requireVerdict(t, ledger.VerdictRefused, s.Send(t.Context(), e))
	}
	e := newEffect()
	e.Request.Headers = map[string][]string{"nats-rollup": {"all"}}
	out = s.Send(t.Context(), e)
	requireVerdict(t, ledger.VerdictRefused, out)
	require.EqualError(t, out.Err, "header Nats-Rollup is set by the destination; a request must not set it")
	_, err = js.Stream(t.Context(), "SMALL")
	require.NoError(t, err)
}

func TestNATSEncryption(t *testing.T) { //nolint:paralleltest // a suite counts goroutines and kills its broker
	certificate, trusted := testCertificate(t)
	b := newNATS(t)
	b.kill(t)
	b.options.TLS, b.options.TLSConfig, b.options.TLSTimeout = true, certificate, 60 // seconds
	b.start(t)
	s := with(t, b, func(o *destination.BrokerOptions) { o.TLS, o.RootCAs = true, trusted })
	requireVerdict(t, ledger.VerdictDone, s.Send(t.Context(), newEffect()))
	out := with(t, b, func(o *destination.BrokerOptions) { o.TLS = true }).Send(t.Context(), newEffect())
	requireVerdict(t, ledger.VerdictNotApplied, out)
	require.ErrorContains(t, out.Err, "TLS handshake with "+b.server())
}
