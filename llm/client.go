package llm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/pemmican-dev/pemmican/internal/jsonspan"
	"github.com/pemmican-dev/pemmican/internal/textcut"
)

// Client sends requests to one endpoint. The zero value asks the vendor of whatever protocol a body is in, without a
// key. It is safe for concurrent use while its fields stay as they are.
type Client struct {
	// API is the protocol. Defaults to what [Detect] finds in a body.
	API API
	// BaseURL is where the protocol is spoken, as the vendor's SDK takes it: with /v1 for the protocols of OpenAI, and
	// without for Anthropic's, where it does no harm. Defaults to the vendor's.
	BaseURL string
	// Key goes to the host of BaseURL and to no other. Defaults to none.
	Key Key
	// Header is added to every request, so that it can be that of an agent's own request. It wins over what the client
	// would set itself, except for what belongs to the connection: the length and the encodings.
	Header http.Header
	// HTTP sends the requests, but decides nothing about redirects to other hosts, which are never followed. Defaults to
	// http.DefaultClient.
	HTTP *http.Client
	// Retries is how often a request is sent again after a Throttle or Transient error, as long as nothing of a reply has
	// come. Defaults to 2; negative for never.
	Retries int
}

const (
	defaultRetries = 2
	// firstDelay is how long the first retry waits at least if the provider does not say; each one waits twice as long as
	// the one before, up to maxDelay.
	firstDelay = 500 * time.Millisecond
	maxDelay   = 8 * time.Second
	// maxAsked is how long a provider may ask to be left alone before the client rather gives up, where the context has
	// no deadline that says so.
	maxAsked = time.Minute
	// maxErrorBody is how much is read of an answer that is an error, in bytes.
	maxErrorBody = 1 << 20
	// maxErrorText is how long the text of an error may be, in bytes.
	maxErrorText = 1000
	// maxRedirects is how many redirects are followed on one host.
	maxRedirects = 5
)

// Endpoint is where the client sends to, without user, password and query; "" for a base URL that cannot be one.
func (c *Client) Endpoint() string {
	u, err := endpoint(c.BaseURL, c.API)
	if err != nil {
		return ""
	}
	return address(u)
}

// Valid reports what is wrong with the protocol, the base URL or the key, before anything is sent.
func (c *Client) Valid() error {
	if _, err := endpoint(c.BaseURL, c.API); err != nil {
		return err
	}
	if !c.Key.valid() {
		return errors.New("the key has characters that no key has")
	}
	return nil
}

// Send posts a body as it is, and returns the reply, streamed or not. Progress, if it is not nil, is called now and then
// while a reply arrives, by one goroutine at a time and never after Send has returned.
//
// The error is an *Error, or that of ctx if it was cancelled; a deadline of ctx that has passed is a Transient *Error.
// A retry waits as long as the provider asks for, but gives up at once if that were beyond the deadline, or over a
// minute where there is none.
//
// There is one exception to the body as it is: where the provider refuses max_tokens in favour of max_completion_tokens,
// or refuses stream_options, it is sent once more with this member renamed or without it.
func (c *Client) Send(ctx context.Context, body []byte, progress func(Progress)) (*Reply, error) {
	s, err := c.prepare(ctx, body, progress)
	if err != nil {
		return nil, err
	}
	retries := c.Retries
	if retries == 0 {
		retries = defaultRetries
	}
	policy := retrypolicy.NewBuilder[*Reply]().
		WithMaxRetries(max(retries, 0)).
		AbortIf(func(_ *Reply, err error) bool { return err != nil && !s.again(err) }).
		WithDelayFunc(func(failsafe.ExecutionAttempt[*Reply]) time.Duration { return s.wait }).
		ReturnLastFailure().
		Build()
	_, err = failsafe.With(policy).WithContext(ctx).Get(s.attempt)
	// What the last attempt brought counts, even if the context has ended just behind it.
	switch {
	case s.reply != nil:
		s.reply.Requests = s.requests
		return s.reply, nil
	case s.failure != nil && !errors.Is(ctx.Err(), context.Canceled):
		s.failure.Requests = s.requests
		return nil, s.failure
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &Error{
			Kind: Transient, Message: fmt.Sprintf("no answer from %s within the time allowed", s.where()), Requests: s.requests,
			Err: context.DeadlineExceeded,
		}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, err
}

// sending is one call of Send.
type sending struct {
	ctx      context.Context //nolint:containedctx // it lives as long as the call
	api      API
	url      *url.URL
	header   http.Header
	secrets  []string
	http     *http.Client
	body     []byte
	progress func(Progress)

	renamed, bare bool // what has been mended
	requests      int
	attempts      int           // requests without those that were mended
	wait          time.Duration // before the next attempt

	// What the last attempt brought: a reply, or a failure, or neither if the context has ended.
	reply    *Reply
	failure  *Error
	accepted bool // some of a reply had come
}

// prepare checks what can be checked without asking anybody.
func (c *Client) prepare(ctx context.Context, body []byte, progress func(Progress)) (*sending, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err()
	}
	api := c.API
	if api == "" {
		api, _ = Detect(body)
	}
	u, err := endpoint(c.BaseURL, api)
	if err != nil {
		return nil, &Error{Kind: Invalid, Message: err.Error(), Err: err}
	}
	if !c.Key.valid() {
		return nil, &Error{Kind: Auth, Message: "the key has characters that no key has"}
	}
	h := http.Header{
		"Accept":       {"text/event-stream, application/json"},
		"Content-Type": {"application/json"},
		"User-Agent":   {"pemmican"},
	}
	if api == Anthropic {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	c.Key.authorize(h, api)
	for name, values := range c.Header {
		switch name = http.CanonicalHeaderKey(name); name {
		case "Accept-Encoding", "Content-Encoding", "Content-Length", "Connection", "Transfer-Encoding":
		default:
			h[name] = values
		}
	}
	return &sending{
		ctx: ctx, api: api, url: u, header: h, secrets: secretsOf(h), http: c.client(), body: body, progress: progress,
	}, nil
}

// secretsOf returns what the headers hold that nobody may read in an error.
func secretsOf(h http.Header) []string {
	var secrets []string
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "Cookie"} {
		for _, value := range h[name] {
			if _, credentials, ok := strings.Cut(value, " "); ok && name == "Authorization" {
				value = credentials
			}
			if value = strings.TrimSpace(value); value != "" {
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}

// hide returns a text without the secrets, which some providers repeat in their errors.
func (s *sending) hide(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, keyShown)
	}
	return text
}

// endpoint returns the address to post to.
func endpoint(base string, api API) (*url.URL, error) {
	var vendor, path string
	switch api {
	case Anthropic:
		vendor, path = "https://api.anthropic.com", "/v1/messages"
	case Chat:
		vendor, path = "https://api.openai.com/v1", "/chat/completions"
	case Responses:
		vendor, path = "https://api.openai.com/v1", "/responses"
	case "":
		return nil, errors.New("the body is in none of the known protocols")
	default:
		return nil, fmt.Errorf("the protocol %q is not known", api)
	}
	if base = strings.TrimSpace(base); base == "" {
		base = vendor
	}
	const mend = "give one such as http://127.0.0.1:8080/v1"
	u, err := url.Parse(base)
	if err != nil {
		// The error of net/url repeats the address, with the password in it.
		return nil, errors.New("the base URL is no URL; " + mend)
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "1"), 10, 16)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the base URL must begin with http:// or https://; " + mend)
	case u.Hostname() == "":
		return nil, fmt.Errorf("the base URL %s has no host; %s", address(u), mend)
	case err != nil || port == 0:
		return nil, fmt.Errorf("the base URL %s has no such port; %s", address(u), mend)
	}
	full := strings.TrimRight(u.Path, "/")
	switch {
	case strings.HasSuffix(full, path): // the whole address was given
	case api == Anthropic && strings.HasSuffix(full, "/v1"):
		full += strings.TrimPrefix(path, "/v1")
	default:
		full += path
	}
	u.Path, u.RawPath, u.Fragment, u.RawFragment = full, "", "", ""
	return u, nil
}

// address is a URL as it may be shown: without user, password and query.
func address(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (s *sending) where() string { return address(s.url) }

// client returns an HTTP client that follows a redirect only to where the key and the transcript were sent anyway.
func (c *Client) client() *http.Client {
	h := http.DefaultClient
	if c.HTTP != nil {
		h = c.HTTP
	}
	own := *h
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		from := via[0].URL
		safer := from.Scheme == req.URL.Scheme || req.URL.Scheme == "https"
		if from.Host != req.URL.Host || !safer || req.Method != http.MethodPost || len(via) > maxRedirects {
			return http.ErrUseLastResponse
		}
		if h.CheckRedirect != nil {
			return h.CheckRedirect(req, via)
		}
		return nil
	}
	return &own
}

// attempt sends the request until it is neither mended nor to be mended.
func (s *sending) attempt() (*Reply, error) {
	s.attempts++
	for {
		s.reply, s.failure, s.accepted = nil, nil, false
		reply, err := s.once()
		var failure *Error
		switch {
		case err == nil:
			s.reply = reply
			return reply, nil
		case !errors.As(err, &failure):
			return nil, err
		case !s.mend(failure):
			s.failure = failure
			return nil, failure
		}
	}
}

// once sends one request. The error is an *Error, or that of the context.
func (s *sending) once() (*Reply, error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url.String(), bytes.NewReader(s.body))
	if err != nil {
		return nil, s.fail(&Error{Kind: Invalid, Err: err})
	}
	req.Header = s.header.Clone()
	s.requests++
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, s.unreachable(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, s.refused(resp)
	}
	d := s.api.decoder()
	err = read(d, resp.Body, s.progress)
	_, s.accepted = d.size()
	if err == nil {
		return s.hidden(d.reply()), nil
	}
	return s.broken(resp, d, err)
}

// hidden is a reply without our key, which a server may have put into it.
func (s *sending) hidden(r *Reply) *Reply {
	for _, text := range []*string{&r.Text, &r.Reasoning, &r.Refusal, &r.Model, &r.StopReason} {
		*text = s.hide(*text)
	}
	for i := range r.Calls {
		r.Calls[i].Name, r.Calls[i].Args = s.hide(r.Calls[i].Name), s.hide(r.Calls[i].Args)
	}
	return r
}

// unreachable is the error of a request that got no answer.
func (s *sending) unreachable(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address, which may hold a password
	}
	kind := Transient
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		kind = Invalid
	}
	return s.fail(&Error{Kind: kind, Message: fmt.Sprintf("cannot reach %s: %v", s.where(), err), Err: err})
}

// refused is the error of an answer with another status than success.
func (s *sending) refused(resp *http.Response) error {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return s.redirected(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	e := s.classify(resp, body)
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
		if v, _ := parseNode(body); v.kind() != jsonspan.KindObject {
			e.Kind, e.Message = Invalid, "the server does not speak the protocol at "+s.where()+s.advice()
		} else {
			e.Message += " (at " + s.where() + ")"
			if s.api != Anthropic && !strings.Contains(s.url.Path, "/v1/") {
				e.Message += s.advice()
			}
		}
	}
	return s.fail(e)
}

// redirected is the error of a redirect that is not followed.
func (s *sending) redirected(resp *http.Response) error {
	message := "the server redirects"
	if to, err := resp.Location(); err == nil {
		message += " to " + address(to)
	}
	return s.fail(&Error{
		Kind: Invalid, Status: resp.StatusCode,
		Message: message + ", which is not followed with a key and a transcript: if that is right, change the base URL",
	})
}

// advice is how to mend a base URL, if it looks wrong.
func (s *sending) advice() string {
	if s.api != Anthropic && !strings.Contains(s.url.Path, "/v1/") {
		return ": the base URL may lack /v1"
	}
	return ": is the base URL right?"
}

// classify returns what kind of error an answer is. The provider gets no chance to tell us our key.
func (s *sending) classify(resp *http.Response, body []byte) *Error {
	e := Classify(resp.StatusCode, resp.Header, []byte(s.hide(string(body))))
	if e == nil {
		e = &Error{Kind: Invalid}
	}
	e.Status = resp.StatusCode
	return e
}

// broken is what becomes of an answer that could not be read to its end.
func (s *sending) broken(resp *http.Response, d decoder, err error) (*Reply, error) {
	var told reported
	e := &Error{Status: resp.StatusCode, Err: err}
	switch {
	case errors.Is(s.ctx.Err(), context.Canceled):
		return nil, s.ctx.Err()
	case errors.As(err, &told):
		e = s.classify(resp, told)
		if e.Message == "" {
			e.Message = "the answer is no reply of the protocol"
		}
	case errors.Is(err, errTooLarge):
		e.Kind = Invalid
	case errors.Is(err, errNotJSON):
		e.Kind, e.Message = Invalid, fmt.Sprintf("%v, at %s%s", err, s.where(), s.advice())
	case errors.Is(err, errSilent):
		e.Kind = Silent
	case d.complete():
		return s.hidden(d.reply()), nil // only the usage may have been lost
	case s.ctx.Err() != nil:
		return nil, s.ctx.Err()
	case errors.Is(err, errNothing):
		e.Kind = Transient
	case errors.Is(err, jsonspan.ErrSyntax), errors.Is(err, jsonspan.ErrDepth):
		e.Kind, e.Message = Transient, "the answer is damaged: it holds what is no JSON"
	default:
		e.Kind, e.Message = Transient, fmt.Sprintf("the connection broke in the middle of the answer: %v", err)
	}
	return nil, s.fail(e)
}

// fail makes the text of an error one bounded line without the key.
func (s *sending) fail(e *Error) *Error {
	if e.Message == "" && e.Err != nil {
		e.Message = e.Err.Error()
	}
	e.Code = s.hide(e.Code)
	e.Message = s.hide(strings.Join(strings.Fields(strings.ToValidUTF8(e.Message, "\uFFFD")), " "))
	if len(e.Message) > maxErrorText {
		e.Message = e.Message[:textcut.Before(e.Message, maxErrorText)] + " …"
	}
	return e
}

// again reports whether to send the request again after an error, and sets how long to wait before.
func (s *sending) again(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || s.accepted || e.Kind != Throttle && e.Kind != Transient {
		return false
	}
	s.wait = e.RetryAfter
	if s.wait <= 0 {
		s.wait = min(firstDelay<<min(s.attempts-1, 8), maxDelay)
	}
	longest := maxAsked
	if deadline, ok := s.ctx.Deadline(); ok {
		longest = time.Until(deadline)
	}
	if s.wait >= longest {
		return false
	}
	// A little more, by chance, so that those who were refused together do not come back together.
	s.wait = min(s.wait+rand.N(s.wait/4+1), longest-1) //nolint:gosec // nothing depends on it but the load
	return true
}

// mend changes the body if the error says that a member which only some providers know is refused, and reports whether
// it did.
func (s *sending) mend(e *Error) bool {
	if s.api != Chat || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	text := e.Code + " " + e.Message
	if !s.renamed && strings.Contains(text, "max_completion_tokens") && strings.Contains(text, "max_tokens") {
		s.renamed = true
		if body, ok := renameMember(s.body, "max_tokens", "max_completion_tokens"); ok {
			s.body = body
			return true
		}
	}
	if !s.bare && strings.Contains(text, "stream_options") {
		s.bare = true
		if body, ok := removeMember(s.body, "stream_options"); ok {
			s.body = body
			return true
		}
	}
	return false
}
