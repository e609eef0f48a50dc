package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

const gitlabProject, gitlabHook = 7, 1

// gitlabHookEvent is an item in a hook's log. The client has no type for such items and no method
// that lists them. The names are from docs.gitlab.com/api/project_webhooks, "Get a list of project
// webhook events". Only the value of RequestData has one of the client's types.
type gitlabHookEvent struct {
	ID                int64             `json:"id"`
	URL               string            `json:"url"`
	Trigger           string            `json:"trigger"`
	RequestHeaders    map[string]string `json:"request_headers"`
	RequestData       any               `json:"request_data"` // *gitlab.PushEvent or *gitlab.MergeEvent
	ResponseHeaders   map[string]string `json:"response_headers"`
	ResponseBody      string            `json:"response_body"`
	ExecutionDuration float64           `json:"execution_duration"`
	ResponseStatus    string            `json:"response_status"`
}

// gitlabList describes the log of a project's hook.
func gitlabList() sdkList {
	return sdkList{
		provider: "gitlab", endpoint: fmt.Sprintf("projects/%d/hooks/%d", gitlabProject, gitlabHook), prefix: "/api/v4",
		event: gitlabEvent, serve: serveGitLab, read: readGitLab,
	}
}

// gitlabEvent returns a push or a merge request. In a push, the log redacts the user's email
// address.
func gitlabEvent(t *testing.T, n int, at time.Time) listEvent {
	t.Helper()
	at = at.Truncate(time.Second)
	e := listEvent{id: fmt.Sprintf("3a427872-00df-429c-9bc9-%012d", n), ref: strconv.Itoa(n + 95), at: at}
	item := &gitlabHookEvent{
		ID: int64(n) + 95, ResponseHeaders: map[string]string{}, ExecutionDuration: 1.09, ResponseStatus: "internal error",
		RequestHeaders: map[string]string{
			"Content-Type": "application/json", "User-Agent": "GitLab/18.6.0", "Idempotency-Key": e.id,
			"X-Gitlab-Event": string(gitlab.EventTypePush), "X-Gitlab-Webhook-UUID": "3c5c0404-c866-44bc-a5f6-452bb1bfc76e",
			"X-Gitlab-Instance": "https://gitlab.example.com", "X-Gitlab-Event-UUID": "9cebe914-4827-408f-b014-cfa23a47a35f",
		},
	}
	push := gitlab.PushEvent{
		ObjectKind: "push", EventName: "push", Ref: "refs/heads/main", CheckoutSHA: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", ProjectID: gitlabProject,
		UserEmail: "ada@example.com", Project: gitlab.PushEventProject{ID: gitlabProject, PathWithNamespace: "acme/hello-world"}, TotalCommitsCount: 1,
		Commits: []*gitlab.PushEventCommit{{ID: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", Timestamp: &at, Author: gitlab.EventCommitAuthor{Name: "Ada Lovelace", Email: "ada@example.com"}}},
	}
	var sent any
	switch n % 2 {
	case 0:
		e.kind, e.altered = "push", "redacted"
		sent = push
		item.Trigger = "push_hooks"
		redacted := push
		redacted.UserEmail = "[REDACTED]"
		item.RequestData = redacted
	case 1:
		e.kind, e.occurred = "merge_request.open", at
		item.RequestHeaders["X-Gitlab-Event"] = string(gitlab.EventTypeMergeRequest)
		item.Trigger = "merge_request_hooks"
		merge := gitlab.MergeEvent{ObjectKind: "merge_request", EventType: "merge_request", User: &gitlab.EventUser{ID: 1, Username: "ada"}}
		merge.ObjectAttributes.IID, merge.ObjectAttributes.Action, merge.ObjectAttributes.State = int64(n), "open", "opened"
		merge.ObjectAttributes.UpdatedAt = at.Format("2006-01-02 15:04:05 UTC")
		sent, item.RequestData = merge, merge
	}
	body, err := json.Marshal(sent)
	require.NoError(t, err)
	e.webhook = &provider.Request{Header: http.Header{}, Body: body}
	for name, value := range item.RequestHeaders {
		e.webhook.Header.Set(name, value)
	}
	item.RequestHeaders["X-Gitlab-Token"] = "[REDACTED]"
	e.item = item
	return e
}

func serveGitLab(a *listAPI, mux *http.ServeMux) {
	hook := fmt.Sprintf("/api/v4/projects/%d/hooks/%d", gitlabProject, gitlabHook)
	mux.HandleFunc("GET "+hook, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, &gitlab.ProjectHook{ID: gitlabHook, URL: a.endpointURL, ProjectID: gitlabProject, PushEvents: true, MergeRequestsEvents: true, AlertStatus: "executable"})
	})
	mux.HandleFunc("GET "+hook+"/events", func(w http.ResponseWriter, r *http.Request) {
		number, _ := strconv.Atoi(r.URL.Query().Get("page")) // empty: the first page
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		newest := newestFirst(a.events)
		from := min(max(number-1, 0)*size, len(newest))
		items := []*gitlabHookEvent{}
		for _, e := range newest[from:min(from+size, len(newest))] {
			item := *e.item.(*gitlabHookEvent)
			item.URL = a.endpointURL
			items = append(items, &item)
		}
		if from+size < len(newest) {
			w.Header().Set("X-Next-Page", strconv.Itoa(max(number, 1)+1))
		}
		answer(w, items)
	})
}

func readGitLab(ctx context.Context, base string, _ time.Time) (string, []string, error) {
	client, err := gitlab.NewClient(listToken, gitlab.WithBaseURL(base), gitlab.WithoutRetries())
	if err != nil {
		return "", nil, err
	}
	hook, _, err := client.Projects.GetProjectHook(gitlabProject, gitlabHook, gitlab.WithContext(ctx))
	if err != nil {
		return "", nil, err
	}
	var refs []string
	for options := (&gitlab.ListOptions{PerPage: 20}); ; {
		request, err := client.NewRequest(http.MethodGet, fmt.Sprintf("projects/%d/hooks/%d/events", gitlabProject, gitlabHook), options, []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)})
		if err != nil {
			return "", nil, err
		}
		var items []struct {
			gitlabHookEvent
			RequestData json.RawMessage `json:"request_data"`
		}
		response, err := client.Do(request, &items)
		if err != nil {
			return "", nil, err
		}
		for _, i := range items {
			if _, err := gitlab.ParseWebhook(gitlab.EventType(i.RequestHeaders["X-Gitlab-Event"]), i.RequestData); err != nil {
				return "", nil, err
			}
			refs = append(refs, strconv.FormatInt(i.ID, 10))
		}
		if options.Page = response.NextPage; options.Page == 0 {
			break
		}
	}
	return hook.URL, refs, nil
}
