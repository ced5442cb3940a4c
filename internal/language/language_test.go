package language

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pemmican-dev/pemmican"
)

// englishOutput is what tools say in every conversation, and far more than the person does.
const englishOutput = "The build failed because the module could not be found. Please check the path and try again, or install the missing package first.\n"

// TestLanguage has conversations with English tool output: rows LANG-01, LANG-02, LANG-04, LANG-05 and more.
func TestLanguage(t *testing.T) {
	for _, row := range []struct {
		id, want string
		said     []string
	}{
		{"LANG-01", "Japanese", []string{
			"ログイン画面のバグを直してください", "`src/auth/login.tsx` の parse 関数を見て", "続けて", "テストも追加して", "設定画面", "OAuthのredirect_uriがおかしいので確認して",
			"それでいいです", "次はREADMEを更新", "コミットして", "ありがとう。あと警告も消して",
		}},
		{"LANG-01 pasted error", "Japanese", []string{
			"設定ファイルの読み込みを速くしてください。公開されている名前は変えないでください。", "これも直して。",
			"TypeError: Cannot read properties of undefined (reading 'map')\n    at Object.<anonymous> (/app/src/index.js:12:9)",
		}},
		{"LANG-02", "Chinese", []string{"修复登录页面的问题", "请看一下 `main.go` 里的 parseConfig 函数", "继续", "运行测试并提交"}},
		{"LANG-02 log", "Chinese", []string{
			"这个接口太慢了，帮我查一下原因", "研究一下什么问题 INFO:     127.0.0.1:58096 - \"GET /api/sessions/?limit=100 HTTP/1.1\" 200 OK\nINFO:     connection open\nINFO:     connection closed",
		}},
		{"LANG-04", "Spanish", []string{
			"Arregla la página de inicio de sesión, por favor.", "¿Por qué falla la prueba? Revisa el analizador y no cambies los nombres públicos.",
			"Ahora añade una función `parseConfig` que lea el archivo y devuelva un error si no existe:\n```go\nfunc parseConfig(path string) (*Config, error)\n```",
		}},
		{"LANG-05", "Korean", []string{"로그인 페이지를 고쳐 주세요", "테스트를 다시 실행해", "src/app.ts 파일도 확인해 줘"}},
		{"German", "German", []string{
			"Die Anmeldung schlägt fehl, wenn das Passwort Umlaute enthält. Bitte finde die Ursache.", "Mach weiter und schreib auch einen Test dafür, aber ändere die Schnittstelle nicht.",
		}},
		{"Russian", "Russian", []string{
			"Исправь, пожалуйста, страницу входа: после обновления она больше не открывается.", "Теперь добавь тесты и запусти всё ещё раз, но не меняй названия функций.",
		}},
		{"French", "French", []string{"Corrige la page de connexion et explique-moi pourquoi le test échoue depuis hier.", "Ajoute des tests et relance tout, puis mets à jour la documentation."}},
		{"English", "English", []string{"Make the session reader faster. Never change the public names.", "why is this so slow? can you profile it", "ok"}},
		{"English, short at the end", "English", []string{
			"Add a retry to the client and write tests for it. Then update the docs.", "no, use the other config file instead of that one", "ok", "what did i just execute?", "ls",
		}},
		{"switched", "Spanish", []string{
			"Make the session reader faster. Never change the public names.", "Why is this so slow? Can you profile it and tell me?", "Now do the same for the writer, please.",
			"A partir de ahora quiero que hables en español, por favor.", "Revisa también las pruebas que fallan y dime qué ha cambiado.",
		}},
		{"unsure", "", []string{"fix it", "go on", "foo bar"}},
		{"code only", "", []string{"```\nthe quick brown fox jumps over the lazy dog and runs away\n```", "src/main.go:12", "ls -la /tmp | grep foo"}},
		{"nobody", "", nil},
		{"two in one", "", []string{"Fix the login page, and tell me what you have changed in 設定画面."}},
		{"mixed, the newest", "English", []string{"ログイン画面のバグを直してください。テストも追加して。", "Fix the login page, and tell me what you have changed in it."}},
		{"Italian", "Italian", []string{"Non funziona ancora, guarda i log e dimmi perché.", "Spiegami cosa hai cambiato in questo file, e aggiungi i test che mancano."}},
		{"Vietnamese", "Vietnamese", []string{"Sửa lỗi trang đăng nhập và chạy lại tất cả kiểm thử, đừng đổi tên hàm."}},
		{"Ukrainian", "Ukrainian", []string{"Виправ сторінку входу, будь ласка, і додай тести."}},
	} {
		t.Run(row.id, func(t *testing.T) {
			tr := &pemmican.Transcript{}
			for i, said := range row.said {
				tr.AddUser(said)
				tr.AddNudge("<system-reminder>The person has not written anything for a while, so please go on with the work.</system-reminder>")
				tr.AddAssistant("I will look at the file and then run the tests again.", pemmican.Call("c", "bash", `{"command":"npm test"}`))
				tr.AddResult("c", strings.Repeat(englishOutput, 5+i))
			}
			if got := Of(tr); got != row.want {
				t.Errorf("Of = %q, want %q", got, row.want)
			}
		})
	}
	if got := Of(nil); got != "" {
		t.Errorf("language of nothing = %q", got)
	}
}

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"Please fix `parseConfig` in src/main.go, it fails.": "Please fix in it fails.",
		"a\n```go\nfunc main() {}\n```\nb":                   "a b",
		"`main.go`の`parse`を直して":                              "の を直して",
		"see https://example.com/a and 12 more":              "see and more",
		"if (a < b) { return c[0]; }":                        "",
		"ERROR: something is wrong here":                     "",
		"Use fooBar and snake_case here":                     "Use and here",
	} {
		var b strings.Builder
		prose(&b, in)
		if got := strings.Join(strings.Fields(b.String()), " "); got != want {
			t.Errorf("prose(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestLanguageKnown: whatever is said, the answer is a name of the list, and the same again.
func TestLanguageKnown(t *testing.T) {
	known := map[string]bool{"": true, chinese: true, japanese: true, korean: true}
	for _, name := range languageNames {
		known[name] = true
	}
	rapid.Check(t, func(t *rapid.T) {
		tr := &pemmican.Transcript{}
		for range rapid.IntRange(0, 6).Draw(t, "messages") {
			tr.AddUser(rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zß-ÿ日本語の한국 ./<>`+"`"+`\n]{0,200}`), rapid.SampledFrom([]string{"日本語です", "<system-reminder>\nPlease continue.\n</system-reminder>", "</system-reminder>", "continue", "por favor", strings.Repeat("a line of words\n", 9000)})).Draw(t, "text"))
		}
		got := Of(tr)
		if !known[got] || got != Of(tr) {
			t.Fatalf("Of = %q, and then %q", got, Of(tr))
		}
	})
}
