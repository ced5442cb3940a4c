// The process beside pi: "pemmican agent --stdio", to which every event goes and which makes every decision. The lines
// are those of internal/sidecar/protocol.go. This file knows nothing of pi.

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";

/** The version of the protocol that this extension speaks. */
export const PROTOCOL = 1;

/** An event to the sidecar: "event" names it, the other members are those of the protocol. */
export type Event = { event: string } & Record<string, unknown>;

/** A question for a model. */
export interface Ask {
	n: number;
	model: string;
	mode: "same" | "cross";
	instruction?: string;
	system?: string;
	user?: string;
	maxTokens?: number;
	compact: number;
}

/** What the sidecar says: the answer to an event, an ask, or what is to be done unasked. */
export interface Line {
	id?: number;
	protocol?: number;
	tool?: {
		name: string;
		label: string;
		description: string;
		snippet?: string;
		guidelines?: string[];
		instructions: string;
	};
	compaction?: {
		summary: string;
		firstKeptEntryId: string;
		tokensBefore: number;
		details?: unknown;
		usage?: any;
	};
	handBack?: string;
	text?: string;
	refused?: string;
	launch?: { instructions?: string };
	say?: { text: string; kind: string; deliver: "steer" | "followUp" | "nextTurn"; turn?: boolean };
	notices?: { level: "info" | "warning" | "error"; text: string }[];
	status?: unknown;
	ask?: Ask;
	cancelAsk?: number;
}

/** Who a sidecar works for. */
export interface Client {
	/** The first event; the answer says which tool to register. */
	hello(): Event;
	/** The sidecar is there, and so it is again after it was restarted. */
	ready(answer: Line): void;
	/** A line that answers no event. It must not throw. */
	unasked(line: Line): void;
	/** The sidecar is gone for good. The text is for the person, and names the mend. */
	gone(text: string): void;
}

/** Asks a model. The reply is the protocol's; what is thrown is told the sidecar as the model's error. */
export type Asker = (ask: Ask, signal: AbortSignal) => Promise<Record<string, unknown>>;

/** Waits in milliseconds. Tests shorten them. */
export interface Waits {
	/** For the answer to hello. */
	hello: number;
	/** For any other answer, unless a model is being asked meanwhile. */
	answer: number;
	/** Before each restart; so many there are at most. */
	restarts: number[];
	/** For the process to end by itself. */
	end: number;
}

const usualWaits: Waits = { hello: 10_000, answer: 60_000, restarts: [500, 2_000, 8_000], end: 1_500 };

const install = "go install github.com/pemmican-dev/pemmican/cmd/pemmican@latest";
const meanwhile = "pi compacts by itself until then";

/** The program: PEMMICAN_BIN if it is set, else the first in PATH, else the one that "go install" makes. */
export function findProgram(env: NodeJS.ProcessEnv = process.env): string | undefined {
	const name = process.platform === "win32" ? "pemmican.exe" : "pemmican";
	const folders = (env.PATH ?? "").split(delimiter).filter(isAbsolute);
	const places = env.PEMMICAN_BIN
		? [env.PEMMICAN_BIN]
		: [...folders, env.GOBIN ?? "", join(env.GOPATH || join(env.HOME || homedir(), "go"), "bin")]
				.filter((folder) => folder !== "")
				.map((folder) => join(folder, name));
	return places.find((place) => {
		try {
			accessSync(place, constants.X_OK);
			return true;
		} catch {
			return false; // not there, or not a program: the next place
		}
	});
}

/** Sidecar keeps the process, and brings events and answers together. */
export class Sidecar {
	private client: Client;
	private env: NodeJS.ProcessEnv;
	private waits: Waits;
	private child: ChildProcess | undefined;
	private errors = ""; // the end of what the process wrote to its standard error
	private nextID = 1;
	private waiting = new Map<number, { resolve(line: Line): void; reject(error: Error): void; ask?: Asker }>();
	private asking = new Map<number, AbortController>();
	private restarts = 0;
	private restart: NodeJS.Timeout | undefined;
	private state: "new" | "there" | "away" | "gone" = "new";

	constructor(client: Client, env: NodeJS.ProcessEnv = process.env, waits: Waits = usualWaits) {
		this.client = client;
		this.env = env;
		this.waits = waits;
	}

	/** Starts the process and says hello. Returns when it has answered, or when it is clear that it will not. */
	async start(): Promise<void> {
		const program = findProgram(this.env);
		if (!program) {
			const where = this.env.PEMMICAN_BIN ? `PEMMICAN_BIN (${this.env.PEMMICAN_BIN})` : "PATH and ~/go/bin";
			return this.giveUp(`the program is not in ${where}: run ${install}, or set PEMMICAN_BIN to it, and restart pi`);
		}
		this.errors = "";
		const child = spawn(program, ["agent", "--stdio"], { env: this.env, stdio: ["pipe", "pipe", "pipe"] });
		this.child = child;
		let rest = "";
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			// Not by readline: it takes U+2028 inside a string for the end of a line.
			const lines = (rest + text).split("\n");
			rest = lines.pop() ?? "";
			for (const line of lines) this.receive(line);
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			this.errors = (this.errors + text).slice(-2_000);
		});
		child.stdin.on("error", () => {}); // the process has ended, and "close" tells of that
		let failed = "";
		child.on("error", (error) => {
			failed = error.message;
		});
		const closed = new Promise<void>((resolve) => {
			child.on("close", (code, signal) => {
				if (this.child === child) this.closed(program, failed || `it ended with ${signal ?? code}`);
				resolve();
			});
		});
		const hello = this.send(this.client.hello(), { wait: this.waits.hello }).then(
			(answer) => {
				if (answer.protocol !== PROTOCOL) {
					const older = (answer.protocol ?? 0) < PROTOCOL;
					return this.giveUp(
						older
							? `${program} is too old for this extension: run ${install}, and restart pi`
							: `${program} is too new for this extension: run pi update --extensions, and restart pi`,
					);
				}
				this.state = "there";
				this.client.ready(answer);
			},
			(error: Error) => {
				// If the process has ended, "close" tells of it.
				if (this.child === child && child.exitCode === null && child.signalCode === null) {
					this.giveUp(`${program} does not answer (${error.message}): run pemmican doctor`);
				}
			},
		);
		await Promise.race([hello, closed]);
	}

	/**
	 * Sends an event and returns the answer. It rejects if the process is not there, ends, is silent for too long, or the
	 * signal says so; the sidecar is told of the latter two. What it asks for the event, ask answers.
	 */
	send(event: Event, options: { signal?: AbortSignal; ask?: Asker; wait?: number } = {}): Promise<Line> {
		const { signal, ask, wait = this.waits.answer } = options;
		const id = this.nextID++;
		return new Promise<Line>((resolve, reject) => {
			if (signal?.aborted) return reject(new Error("it was called off"));
			let timer: NodeJS.Timeout;
			const settle = () => {
				clearTimeout(timer);
				signal?.removeEventListener("abort", abort);
				this.waiting.delete(id);
			};
			const cancel = (why: string) => {
				settle();
				this.write({ id: this.nextID++, cancel: id });
				reject(new Error(why));
			};
			const abort = () => cancel("it was called off");
			const tick = () => {
				// A model may take its time, and the sidecar bounds it.
				if (this.asking.size > 0) timer = setTimeout(tick, wait);
				else cancel(`no answer within ${wait / 1000} s`);
			};
			timer = setTimeout(tick, wait);
			signal?.addEventListener("abort", abort);
			this.waiting.set(id, {
				resolve: (line) => (settle(), resolve(line)),
				reject: (error) => (settle(), reject(error)),
				ask,
			});
			if (!this.write({ id, ...event })) {
				settle();
				reject(new Error("the program does not run"));
			}
		});
	}

	/** Says that the session is over, and lets the process end. Nothing is delivered from now on. */
	async end(): Promise<void> {
		const child = this.child;
		this.state = "gone";
		this.child = undefined;
		clearTimeout(this.restart);
		this.forget("the session is over");
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const closed = new Promise<void>((resolve) => child.on("close", () => resolve()));
		child.stdin?.end(`${JSON.stringify({ id: this.nextID++, event: "end" })}\n`);
		const timer = setTimeout(() => child.kill("SIGKILL"), this.waits.end);
		await closed;
		clearTimeout(timer);
	}

	/** Whether the process is there and has said hello. */
	get there(): boolean {
		return this.state === "there";
	}

	private write(line: unknown): boolean {
		const stdin = this.child?.stdin;
		if (!stdin?.writable) return false;
		stdin.write(`${JSON.stringify(line)}\n`);
		return true;
	}

	private receive(text: string): void {
		let line: Line;
		try {
			line = JSON.parse(text);
		} catch {
			return; // not ours: a library that prints, say. What is missing for it, the waits find out.
		}
		if (typeof line !== "object" || line === null || Array.isArray(line)) return;
		if (line.cancelAsk) return this.asking.get(line.cancelAsk)?.abort();
		if (line.ask) return void this.answer(line.ask);
		const waiting = line.id ? this.waiting.get(line.id) : undefined;
		if (waiting) waiting.resolve(line);
		else if (!line.id && this.state === "there") this.client.unasked(line);
	}

	private async answer(ask: Ask): Promise<void> {
		const child = this.child;
		const controller = new AbortController();
		this.asking.set(ask.n, controller);
		let reply: Record<string, unknown>;
		try {
			const asker = this.waiting.get(ask.compact)?.ask;
			if (!asker) throw new Error("nobody waits for this any more");
			reply = await asker(ask, controller.signal);
		} catch (error) {
			reply = { text: "", stop: controller.signal.aborted ? "aborted" : "error", error: message(error) };
		}
		if (this.asking.get(ask.n) === controller) this.asking.delete(ask.n);
		if (this.child === child) this.write({ id: this.nextID++, reply: { ...reply, n: ask.n } });
	}

	private closed(program: string, how: string): void {
		const said = this.errors.trim().split("\n").pop();
		const why = said ? `${how}: ${said}` : how;
		this.forget(`the program has ended (${how})`);
		if (this.state === "gone") return;
		this.child = undefined;
		if (this.state === "new") {
			// One that is too old does not know the command.
			return this.giveUp(`${program} does not start (${why}): run ${install}, and restart pi`);
		}
		const wait = this.waits.restarts[this.restarts++];
		if (wait === undefined) {
			return this.giveUp(`${program} has ended ${this.restarts} times (${why}): run pemmican doctor, and restart pi`);
		}
		this.state = "away";
		const again = () => this.start().catch((error) => this.giveUp(`${message(error)}: run pemmican doctor, and restart pi`));
		this.restart = setTimeout(again, wait);
		this.restart.unref();
	}

	private giveUp(why: string): void {
		if (this.state === "gone") return;
		this.state = "gone";
		this.child?.kill("SIGKILL");
		this.child = undefined;
		this.forget("the program does not run");
		this.client.gone(`Pemmican: ${why}; ${meanwhile}.`);
	}

	private forget(why: string): void {
		for (const { reject } of [...this.waiting.values()]) reject(new Error(why));
		for (const controller of this.asking.values()) controller.abort();
		this.asking.clear();
	}
}

/** The message of whatever was thrown. */
export function message(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
