package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-github/v75/github"
	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

const (
	githubOwner, githubRepo = "octocat", "hello-world"
	githubHook              = 109948940
	// firstDelivery is the smallest positive integer that a float64 cannot represent.
	firstDelivery = 1<<53 + 1
)

// githubList describes the list of the deliveries of a repository's hook.
func githubList() sdkList {
	return sdkList{
		provider: "github", endpoint: fmt.Sprintf("repos/%s/%s/hooks/%d", githubOwner, githubRepo, githubHook),
		event: githubEvent, serve: serveGitHub, read: readGitHub,
	}
}

// githubEvent returns a push as JSON, or a pull request as a form. GitHub lets the hook's
// owner choose the format, and lists both formats as JSON.
func githubEvent(t *testing.T, n int, at time.Time) listEvent {
	t.Helper()
	id := fmt.Sprintf("0b989ba4-242f-11e5-81e1-%012d", n)
	delivery := &github.HookDelivery{
		ID: new(firstDelivery + int64(n)), GUID: &id, DeliveredAt: &github.Timestamp{Time: at}, Redelivery: new(false),
		Status: new("failed to connect to host"), StatusCode: new(0), Event: new("push"), RepositoryID: new(int64(1296269)),
	}
	kind, contentType := "push", "application/json"
	var about any = &github.PushEvent{
		Ref: new("refs/heads/main"), After: new("6113728f27ae82c7b1a177c8d03f9e96e0adf246"),
		Repo: &github.PushEventRepository{FullName: new(githubOwner + "/" + githubRepo)}, Pusher: &github.CommitAuthor{Name: new("octocat")},
	}
	if n%2 == 1 {
		kind, contentType = "pull_request.opened", "application/x-www-form-urlencoded"
		delivery.Event, delivery.Action = new("pull_request"), new("opened")
		about = &github.PullRequestEvent{
			Action: delivery.Action, Number: &n, PullRequest: &github.PullRequest{Number: &n, UpdatedAt: &github.Timestamp{Time: at}},
			Repo: &github.Repository{FullName: new(githubOwner + "/" + githubRepo)},
		}
	}
	body, err := json.Marshal(about)
	require.NoError(t, err)
	payload := json.RawMessage(body)
	webhook := &provider.Request{Header: http.Header{
		"Content-Type": {contentType}, github.EventTypeHeader: {delivery.GetEvent()}, github.DeliveryIDHeader: {id},
	}, Body: body}
	if n%2 == 1 {
		webhook.Body = []byte(url.Values{"payload": {string(body)}}.Encode())
	}
	headers := map[string]string{"content-type": contentType, github.SHA256SignatureHeader: "sha256=not what it was"}
	for _, name := range []string{github.EventTypeHeader, github.DeliveryIDHeader} {
		headers[name] = webhook.Header.Get(name)
	}
	delivery.Request = &github.HookRequest{Headers: headers, RawPayload: &payload}
	return listEvent{id: id, kind: kind, ref: strconv.FormatInt(delivery.GetID(), 10), at: at, webhook: webhook, item: delivery}
}

func serveGitHub(a *listAPI, mux *http.ServeMux) {
	hook := fmt.Sprintf("/repos/%s/%s/hooks/%d", githubOwner, githubRepo, githubHook)
	mux.HandleFunc("GET "+hook, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &github.Hook{
			ID: new(int64(githubHook)), Active: new(true), Events: []string{"*"},
			Config: &github.HookConfig{URL: &a.endpointURL}, LastResponse: map[string]any{"code": nil, "status": "unused", "message": nil},
		})
	})
	mux.HandleFunc("GET "+hook+"/deliveries", func(w http.ResponseWriter, r *http.Request) {
		page, more := pageBehind(newestFirst(a.events), r.URL.Query().Get("cursor"))
		items := []*github.HookDelivery{}
		for _, e := range page {
			delivery := *e.item.(*github.HookDelivery)
			delivery.Request = nil
			items = append(items, &delivery)
		}
		if more {
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?per_page=100&cursor=%s>; rel="next"`, r.Host, r.URL.Path, page[len(page)-1].ref))
		}
		answer(w, items)
	})
	mux.HandleFunc("GET "+hook+"/deliveries/{ref}", func(w http.ResponseWriter, r *http.Request) {
		if e := a.find(r.PathValue("ref")); e != nil {
			answer(w, e.item)
			return
		}
		http.NotFound(w, r)
	})
	mux.HandleFunc("POST "+hook+"/deliveries/{ref}/attempts", func(w http.ResponseWriter, r *http.Request) {
		if err := a.deliver(r.PathValue("ref")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("{}"))
	})
}

func readGitHub(ctx context.Context, base string, _ time.Time) (string, []string, error) {
	client := github.NewClient(nil).WithAuthToken(listToken)
	var err error
	if client.BaseURL, err = url.Parse(base + "/"); err != nil {
		return "", nil, err
	}
	hook, _, err := client.Repositories.GetHook(ctx, githubOwner, githubRepo, githubHook)
	if err != nil {
		return "", nil, err
	}
	var refs []string
	for options := (&github.ListCursorOptions{PerPage: 100}); ; {
		page, response, err := client.Repositories.ListHookDeliveries(ctx, githubOwner, githubRepo, githubHook, options)
		if err != nil {
			return "", nil, err
		}
		for _, d := range page {
			refs = append(refs, strconv.FormatInt(d.GetID(), 10))
		}
		if options.Cursor = response.Cursor; options.Cursor == "" {
			break
		}
	}
	whole, _, err := client.Repositories.GetHookDelivery(ctx, githubOwner, githubRepo, githubHook, firstDelivery)
	if err != nil {
		return "", nil, err
	}
	if _, err := whole.ParseRequestPayload(); err != nil {
		return "", nil, err
	}
	_, _, err = client.Repositories.RedeliverHookDelivery(ctx, githubOwner, githubRepo, githubHook, firstDelivery)
	if accepted := (*github.AcceptedError)(nil); err != nil && !errors.As(err, &accepted) {
		return "", nil, err
	}
	return hook.Config.GetURL(), refs, nil
}
