// What the tests need: real pi in its RPC mode, with a home of its own and a model that says what a test tells it to.

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folders of pi's package to test against, both ends of the range. The program that runs the tests installs them. */
export const packages = (process.env.PEMMICAN_PI_PACKAGES ?? "").split(":").filter(Boolean);

export const version = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;

const here = dirname(fileURLToPath(import.meta.url));
export const extension = join(here, "..", "extensions", "pemmican.ts");
export const fakeSidecar = join(here, "fake-sidecar.mjs");

const leftovers = new WeakMap();

/**
 * Has something done after the test, what began last first: pi must have ended before its home goes. What fails keeps nothing
 * else from being done, which node's own hooks would.
 */
function after(t, undo) {
	if (!leftovers.has(t)) {
		leftovers.set(t, []);
		t.after(async () => {
			const failures = [];
			for (const each of leftovers.get(t).reverse()) {
				try {
					await each();
				} catch (error) {
					failures.push(error);
				}
			}
			if (failures.length) throw new AggregateError(failures, failures.join("; "));
		});
	}
	leftovers.get(t).push(undo);
}

/** A folder that is gone after the test. */
export function folder(t) {
	const path = mkdtempSync(join(tmpdir(), "pemmican-pi-"));
	after(t, () => rmSync(path, { recursive: true, force: true, maxRetries: 10 }));
	return path;
}

/** A server of OpenAI's Chat Completions. reply is called with each body, and returns { text, calls, usage } or { status, error }. */
export async function model(t, reply) {
	const requests = [];
	const server = createServer(async (request, response) => {
		let body = "";
		for await (const part of request) body += part;
		body = JSON.parse(body);
		requests.push(body);
		const { text = "", calls = [], tokens = 1000, status, error } = await reply(body, requests.length);
		if (status) {
			response.writeHead(status, { "content-type": "application/json" });
			return response.end(JSON.stringify({ error: { message: error } }));
		}
		response.writeHead(200, { "content-type": "text/event-stream" });
		const send = (delta, finish_reason = null, usage = undefined) =>
			response.write(
				`data: ${JSON.stringify({ id: "r", object: "chat.completion.chunk", model: body.model, choices: [{ index: 0, delta, finish_reason }], usage })}\n\n`,
			);
		if (text) send({ role: "assistant", content: text });
		calls.forEach(({ name, args }, index) => {
			const id = `call_${requests.length}_${index}`;
			send({ tool_calls: [{ index, id, type: "function", function: { name, arguments: JSON.stringify(args) } }] });
		});
		send({}, calls.length ? "tool_calls" : "stop", {
			prompt_tokens: tokens,
			completion_tokens: 10,
			total_tokens: tokens + 10,
		});
		response.end("data: [DONE]\n\n");
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	after(t, () => {
		server.closeAllConnections();
		server.close();
	});
	return { url: `http://127.0.0.1:${server.address().port}/v1`, requests };
}

/** Starts pi with extensions. options: extensions, env, reply, window, keepRecent, args. */
export async function start(t, packageFolder, options) {
	const home = folder(t);
	const agent = join(home, ".pi", "agent");
	const work = join(home, "work");
	mkdirSync(agent, { recursive: true });
	mkdirSync(work);
	const server = await model(t, options.reply ?? (() => ({ text: "done" })));
	const models = ["one", "two"].map((id) => ({
		id,
		reasoning: false,
		input: ["text"],
		contextWindow: options.window ?? 200_000,
		maxTokens: 8192,
	}));
	writeFileSync(
		join(agent, "models.json"),
		JSON.stringify({
			providers: {
				test: { baseUrl: server.url, api: "openai-completions", apiKey: "dummy", models },
				keyless: { baseUrl: server.url, api: "openai-completions", models },
			},
		}),
	);
	writeFileSync(
		join(agent, "settings.json"),
		JSON.stringify({ compaction: { enabled: true, reserveTokens: 16384, keepRecentTokens: options.keepRecent ?? 3 } }),
	);
	const files = options.extensions.map((each, i) => {
		if (existsSync(each)) return each;
		const path = join(home, `extension-${i}.ts`);
		writeFileSync(path, each);
		return path;
	});
	const program = join(packageFolder, "..", "..", ".bin", "pi");
	const args = ["--mode", "rpc", "--provider", "test", "--model", "one", ...(options.args ?? [])];
	const child = spawn(program, [...args, ...files.flatMap((file) => ["-e", file])], {
		cwd: work,
		env: {
			HOME: home,
			LANG: "C.UTF-8",
			PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
			PI_OFFLINE: "1",
			TERM: "xterm",
			TMPDIR: tmpdir(),
			...options.env,
		},
		stdio: ["pipe", "pipe", "pipe"],
	});
	const events = [];
	let errors = "";
	let rest = "";
	let news = Promise.withResolvers(); // of anything that pi says
	const wake = () => {
		news.resolve();
		news = Promise.withResolvers();
	};
	child.stdout.setEncoding("utf8").on("data", (text) => {
		const lines = (rest + text).split("\n");
		rest = lines.pop();
		for (const line of lines) events.push(JSON.parse(line));
		wake();
	});
	child.stderr.setEncoding("utf8").on("data", (text) => {
		errors += text;
	});
	const closed = new Promise((resolve) => child.on("close", resolve));
	child.on("close", wake);
	after(t, async () => {
		child.stdin.end();
		const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
		await closed;
		clearTimeout(late);
	});

	let seen = 0;
	let ids = 0;
	const find = async (from, what, match) => {
		const deadline = Date.now() + 30_000;
		for (let i = from; ; ) {
			for (; i < events.length; i++) if (match(events[i])) return i;
			const left = deadline - Date.now();
			if (left <= 0 || child.exitCode !== null) {
				const last = events.filter((event) => event.type !== "message_update").slice(-15);
				throw new Error(`pi did not say ${what}\n${last.map((event) => JSON.stringify(event).slice(0, 300)).join("\n")}\n${errors}`);
			}
			let timer;
			await Promise.race([news.promise, new Promise((resolve) => (timer = setTimeout(resolve, left)))]);
			clearTimeout(timer);
		}
	};
	const pi = {
		home,
		work,
		events,
		requests: server.requests,
		errors: () => errors,
		/** Sends a command and returns its response. */
		async send(type, more = {}) {
			const id = `c${++ids}`;
			child.stdin.write(`${JSON.stringify({ id, type, ...more })}\n`);
			return events[await find(0, `the response to ${type}`, (event) => event.type === "response" && event.id === id)];
		},
		/** Waits for the next event of a type. */
		async wait(type, match = () => true) {
			const i = await find(seen, type, (event) => event.type === type && match(event));
			seen = i + 1;
			return events[i];
		},
		async prompt(message) {
			await pi.send("prompt", { message });
			await pi.wait("agent_settled");
		},
		notices: () => events.filter((event) => event.type === "extension_ui_request" && event.method === "notify").map((event) => event.message),
		notice: async (text) =>
			events[await find(0, `a notice with ${text}`, (event) => event.method === "notify" && event.message.includes(text))].message,
		/** The lines of the session file. */
		session() {
			const root = join(agent, "sessions");
			const files = readdirSync(root, { recursive: true }).filter((file) => file.endsWith(".jsonl"));
			return readFileSync(join(root, files.sort().pop()), "utf8").trim().split("\n").map((line) => JSON.parse(line));
		},
		async close() {
			child.stdin.end();
			await closed;
		},
	};
	await pi.send("get_state");
	return pi;
}

/** The environment for the fake sidecar, and what it was told. */
export function fake(t, script) {
	const log = join(folder(t), "log");
	writeFileSync(log, "");
	chmodSync(fakeSidecar, 0o755);
	const lines = () => readFileSync(log, "utf8").trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
	return {
		env: { PEMMICAN_BIN: fakeSidecar, FAKE_SCRIPT: JSON.stringify(script), FAKE_LOG: log },
		lines,
		events: (name) => lines().filter((line) => line.event === name),
	};
}
