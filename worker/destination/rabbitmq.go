package destination

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// rabbitHeartbeat is the interval of the heartbeats that detect a lost connection.
const rabbitHeartbeat = 5 * time.Second

// RabbitMQ sends effects of kind "rabbitmq": it publishes their bodies to an exchange of RabbitMQ
// (AMQP 0-9-1), as persistent messages that must reach a queue. The URL of a request is its routing
// key. The idempotency key is the message-id.
type RabbitMQ struct {
	broker
	*link[*rabbitConn]

	exchange string
	config   amqp.Config
	login    amqp.PlainAuth
}

// rabbitConn is a connection with its free channels, which no attempt uses.
type rabbitConn struct {
	*amqp.Connection

	free chan *rabbitChannel
}

// rabbitChannel is a channel in confirm mode. It carries one message at a time, because RabbitMQ
// closes a channel whose message it refuses.
type rabbitChannel struct {
	*amqp.Channel

	returned chan amqp.Return
	closed   chan *amqp.Error
}

// NewRabbitMQ checks the options. It does not connect.
func NewRabbitMQ(o RabbitMQOptions) (*RabbitMQ, error) {
	o = o.WithDefaults()
	if o.Name == "" {
		return nil, errors.New("rabbitmq destination: Name is required")
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("rabbitmq destination %q: %w", o.Name, err)
	}
	b, err := newBroker(KindRabbitMQ, o.RoutingKey, o.BrokerOptions)
	if err != nil {
		return nil, fmt.Errorf("rabbitmq destination %q: %w", o.Name, err)
	}
	r := &RabbitMQ{
		broker: b, exchange: o.Exchange, login: amqp.PlainAuth{Username: o.Username, Password: o.Password.Reveal()},
		config: amqp.Config{Vhost: o.VHost, Heartbeat: rabbitHeartbeat, Properties: amqp.Table{"connection_name": userAgent}},
	}
	r.link = newLink(
		func(ctx context.Context) (*rabbitConn, error) { return firstServer(ctx, &r.broker, r.connectTo) },
		func(c *rabbitConn) bool { return !c.IsClosed() },
		func(c *rabbitConn) { _ = c.CloseDeadline(time.Now().Add(quitTimeout)) }, // an error changes no outcome
	)
	return r, nil
}

func (r *RabbitMQ) connectTo(ctx context.Context, server string) (*rabbitConn, error) {
	plain, err := r.dialTLS(ctx, server)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { plain.Close() })
	config, login := r.config, r.login // the client deletes the password of a login that it has used
	config.SASL = []amqp.Authentication{&login}
	conn, err := amqp.Open(plain, config)
	switch interrupted := !stop(); {
	case err != nil:
		plain.Close()
		return nil, err
	case interrupted:
		_ = conn.Close()
		return nil, ctx.Err()
	}
	return &rabbitConn{Connection: conn, free: make(chan *rabbitChannel, maxIdle)}, nil
}

// channel returns a channel that no other attempt uses.
func (c *rabbitConn) channel() (*rabbitChannel, error) {
	for {
		select {
		case channel := <-c.free:
			if !channel.IsClosed() {
				return channel, nil
			}
			continue
		default:
		}
		opened, err := c.Channel()
		if err != nil {
			return nil, err
		}
		channel := &rabbitChannel{Channel: opened, returned: make(chan amqp.Return, 1), closed: make(chan *amqp.Error, 1)}
		channel.NotifyReturn(channel.returned)
		channel.NotifyClose(channel.closed)
		if err := channel.Confirm(false); err != nil {
			return nil, err
		}
		return channel, nil
	}
}

// release keeps a channel for the next attempt, or closes it if maxIdle channels are free.
func (c *rabbitConn) release(channel *rabbitChannel) {
	select {
	case c.free <- channel:
	default:
		_ = channel.Close() // an error changes no outcome
	}
}

// Send implements Sender.
func (r *RabbitMQ) Send(ctx context.Context, e *ledger.Effect) Outcome {
	defer r.begin()()
	return r.send(ctx, e, r.publish)
}

// publish returns when RabbitMQ has confirmed or refused the message, when an error has occurred,
// or when ctx ends. The client does not support contexts: a call that waits for a silent broker may
// outlast the attempt, until the heartbeats detect that the connection is lost.
func (r *RabbitMQ) publish(ctx context.Context, m message) Outcome {
	published, err := r.publishing(m)
	if err != nil {
		return refused(err.Error())
	}
	conn, err := r.get(ctx)
	if err != nil {
		return r.notConnected(ctx, err)
	}
	opened := make(chan error, 1)
	sent := make(chan Outcome, 1)
	go func() {
		channel, err := conn.channel()
		if err == nil && ctx.Err() != nil { // too late: nothing is published
			conn.release(channel)
			err = ctx.Err()
		}
		opened <- err
		if err == nil {
			sent <- r.exchangeOne(ctx, conn, channel, m.address, published)
		}
	}()
	select {
	case err := <-opened:
		if err != nil {
			return r.notConnected(ctx, err)
		}
	case <-ctx.Done():
		return r.notConnected(ctx, ctx.Err())
	}
	select {
	case out := <-sent:
		return out
	case <-ctx.Done():
		return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: r.noAck(ctx, ctx.Err())}
	}
}

// publishing returns the AMQP form of a message.
func (r *RabbitMQ) publishing(m message) (amqp.Publishing, error) {
	p := amqp.Publishing{
		MessageId: m.key, ContentType: m.header.Get("Content-Type"), Timestamp: m.createdAt, AppId: userAgent,
		DeliveryMode: amqp.Persistent, Headers: make(amqp.Table, len(m.header)), Body: m.body,
	}
	m.header.Del("Content-Type")
	for name, values := range m.header {
		list := make([]any, len(values))
		for i, value := range values {
			list[i] = value
		}
		p.Headers[name] = list
		if len(list) == 1 {
			p.Headers[name] = list[0]
		}
		if len(name) > maxShortText {
			return p, errors.New("the name of a header is longer than 255 bytes")
		}
	}
	if len(m.address) > maxShortText || len(p.ContentType) > maxShortText {
		return p, errors.New("the routing key or the content type is longer than 255 bytes")
	}
	return p, nil
}

// exchangeOne publishes a message and waits for its confirmation.
func (r *RabbitMQ) exchangeOne(ctx context.Context, conn *rabbitConn, channel *rabbitChannel, key string, p amqp.Publishing) Outcome {
	const mandatory = true // RabbitMQ returns a message that reaches no queue
	confirmation, err := channel.PublishWithDeferredConfirm(r.exchange, key, mandatory, false, p)
	if err != nil {
		return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: r.noAck(ctx, err)}
	}
	confirmed := confirmation.Wait()
	select {
	case returned, is := <-channel.returned: // RabbitMQ sends a return before the confirmation
		if !is {
			break // the client closed this Go channel together with the AMQP channel
		}
		conn.release(channel)
		return Outcome{
			Verdict: ledger.VerdictTurnedAway, Err: errors.New("the exchange has no queue for the routing key"),
			Excerpt: r.redactor.excerpt([]byte(returned.ReplyText), false),
		}
	default:
	}
	select {
	case failure, failed := <-channel.closed:
		if failed {
			return r.closed(ctx, failure)
		}
		return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: r.noAck(ctx, amqp.ErrClosed)}
	default:
	}
	conn.release(channel)
	if !confirmed {
		// Other queues of the exchange may have stored the message.
		return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: errors.New("a queue of the exchange rejected the message")}
	}
	return Outcome{Verdict: ledger.VerdictDone}
}

// closed returns the outcome of a message for which RabbitMQ closed the channel. With one of the
// codes below, RabbitMQ has not stored the message. With any other code, RabbitMQ may have stored
// it.
func (r *RabbitMQ) closed(ctx context.Context, failure *amqp.Error) Outcome {
	out := Outcome{Excerpt: r.redactor.excerpt([]byte(failure.Reason), false), Err: fmt.Errorf("RabbitMQ %d", failure.Code)}
	switch failure.Code {
	case amqp.NotFound:
		out.Verdict, out.Err = ledger.VerdictTurnedAway, errors.New("the exchange does not exist")
	case amqp.AccessRefused:
		out.Verdict, out.Err = ledger.VerdictTurnedAway, errors.New("the user may not publish to the exchange")
	case amqp.PreconditionFailed: // the size is the only property that can be wrong
		out.Verdict, out.Err = ledger.VerdictRefused, errors.New("RabbitMQ refused the message, which is probably too large")
	default:
		return Outcome{Verdict: ledger.VerdictMaybeApplied, Err: r.noAck(ctx, failure)}
	}
	return out
}
