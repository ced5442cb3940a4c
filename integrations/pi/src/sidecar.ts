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
	veto?: string;
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
	/** For any other answer, unless a model is being asked for it meanwhile. */
	answer: number;
	/** Between two signs of life while a model may be asked, and for each of them. */
	beat: number;
	/** Before each restart; so many there are at most. */
	restarts: number[];
	/** For the process to end by itself. */
	end: number;
}

const usualWaits: Waits = { hello: 5_000, answer: 15_000, beat: 10_000, restarts: [500, 2_000, 8_000], end: 1_500 };

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

// wrong is what is wrong with the shape of a line, undefined if nothing is. What is told by a program is not what its types say.
function wrong(line: any): string | undefined {
	const object = (value: any) => typeof value === "object" && value !== null && !Array.isArray(value);
	const all = (value: any, type: string, ...names: string[]) => object(value) && names.every((name) => typeof value[name] === type);
	const { tool, compaction, say, notices, launch, ask } = line;
	if (tool && !all(tool, "string", "name", "label", "description", "instructions")) return "tool";
	if (tool?.guidelines && !Array.isArray(tool.guidelines)) return "tool";
	if (compaction && !(all(compaction, "string", "summary", "firstKeptEntryId") && all(compaction, "number", "tokensBefore"))) return "compaction";
	if (say && !all(say, "string", "text", "kind", "deliver")) return "say";
	if (notices && !(Array.isArray(notices) && notices.every((notice) => all(notice, "string", "level", "text")))) return "notices";
	if (launch && !object(launch)) return "launch";
	if (ask && !(all(ask, "number", "n", "compact") && all(ask, "string", "model", "mode"))) return "ask";
	if (!["undefined", "string"].includes(typeof line.text) || !["undefined", "string"].includes(typeof line.refused)) return "text";
	return undefined;
}

/** Sidecar keeps the process, and brings events and answers together. */
export class Sidecar {
	private client: Client;
	private env: NodeJS.ProcessEnv;
	private waits: Waits;
	private program = "";
	private child: ChildProcess | undefined;
	private errors = ""; // the end of what the process wrote to its standard error
	private nextID = 1;
	private waiting = new Map<number, { resolve(line: Line): void; reject(error: Error): void; ask?: Asker }>();
	private asking = new Map<number, AbortController>();
	private restarts = 0;
	private restart: NodeJS.Timeout | undefined;
	private state: "new" | "there" | "away" | "gone" = "new";
	private absent = "the program does not run"; // why it is not there, with the mend
	private arrived: (() => void)[] = []; // those who wait for it to be there again, or gone

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
		this.program = program;
		const child = spawn(program, ["agent", "--stdio"], { env: this.env, stdio: ["pipe", "pipe", "pipe"] });
		this.child = child;
		let rest = "";
		child.stdout.setEncoding("utf8").on("data", (text: string) => {
			// Not by readline: it takes U+2028 inside a string for the end of a line.
			const lines = (rest + text).split("\n");
			rest = lines.pop() ?? "";
			for (const line of lines) if (this.child === child) this.receive(line);
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			this.errors = (this.errors + text).slice(-2_000);
		});
		child.stdin.on("error", () => {}); // the process has ended, and "exit" tells of that
		const closed = new Promise<void>((resolve) => {
			const end = (how: string) => {
				release(child);
				if (this.child === child) this.closed(how);
				resolve();
			};
			child.on("error", (error) => end(error.message));
			child.on("close", (code, signal) => end(`it ended with ${signal ?? code}`));
			// A process of its own may hold its pipes open; what it has written itself is there by then.
			child.on("exit", (code, signal) => setTimeout(() => end(`it ended with ${signal ?? code}`), 200).unref());
		});
		const hello = this.send(this.client.hello(), { wait: this.waits.hello }).then(
			(answer) => {
				if (this.child !== child) return; // it has ended over the next line
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
				this.wake();
			},
			() => {}, // the process is not there any more
		);
		await Promise.race([hello, closed]);
	}

	/**
	 * Sends an event and returns the answer. It rejects if the process is not there, ends, is silent for too long, which ends
	 * it, or the signal says so, which it is told. What it asks for the event, ask answers; while a model may be asked, which
	 * takes its time, it gives signs of life.
	 */
	send(event: Event, options: { signal?: AbortSignal; ask?: Asker; wait?: number } = {}): Promise<Line> {
		const { signal, ask, wait = this.waits.answer } = options;
		const id = this.nextID++;
		return new Promise<Line>((resolve, reject) => {
			if (signal?.aborted) return reject(new Error("it was called off"));
			let timer: NodeJS.Timeout;
			let beat: NodeJS.Timeout | undefined;
			const settle = () => {
				clearTimeout(timer);
				clearTimeout(beat);
				signal?.removeEventListener("abort", abort);
				this.waiting.delete(id);
			};
			const abort = () => {
				settle();
				this.write({ id: this.nextID++, cancel: id });
				reject(new Error("it was called off"));
			};
			const tick = () => {
				// A model may take its time, and the sidecar bounds it.
				if (ask && this.asking.size > 0) timer = setTimeout(tick, wait);
				else this.broken(`no answer within ${wait / 1000} s`);
			};
			timer = setTimeout(tick, wait);
			const live = () =>
				this.send({ event: "status" }, { wait: this.waits.beat }).then(
					() => {
						if (this.waiting.has(id)) beat = setTimeout(live, this.waits.beat);
					},
					() => {}, // so this event has been rejected too
				);
			if (ask) beat = setTimeout(live, this.waits.beat);
			signal?.addEventListener("abort", abort);
			this.waiting.set(id, {
				resolve: (line) => (settle(), resolve(line)),
				reject: (error) => (settle(), reject(error)),
				ask,
			});
			if (!this.write({ id, ...event })) {
				settle();
				reject(new Error(this.absent));
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
		this.wake();
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()));
		child.stdin?.end(`${JSON.stringify({ id: this.nextID++, event: "end" })}\n`);
		const timer = setTimeout(() => child.kill("SIGKILL"), this.waits.end);
		await ended;
		clearTimeout(timer);
		release(child);
	}

	/** Waits, so many milliseconds at most, while the process is being started again, and returns whether it is there. */
	async back(wait: number): Promise<boolean> {
		let timer: NodeJS.Timeout | undefined;
		if (this.state === "away") {
			await new Promise<void>((resolve) => {
				this.arrived.push(resolve);
				timer = setTimeout(resolve, wait);
			});
		}
		clearTimeout(timer);
		return this.there;
	}

	/** Whether the process is there and has said hello. */
	get there(): boolean {
		return this.state === "there";
	}

	private wake(): void {
		for (const resolve of this.arrived.splice(0)) resolve();
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
		const bad = wrong(line);
		if (bad) return this.broken(`its "${bad}" cannot be read`);
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

	/** Ends a process that is silent, or says what no Pemmican says. */
	private broken(why: string): void {
		if (!this.child) return;
		release(this.child);
		if (this.state === "new") this.state = "away"; // it has started, and may do better
		this.closed(why);
	}

	private closed(how: string): void {
		const { program } = this;
		const said = this.errors.trim().split("\n").pop();
		const why = said ? `${how}: ${said}` : how;
		this.child = undefined;
		if (this.state !== "gone") this.absent = "the program is being started again";
		this.forget(`the program has ended (${how})`);
		if (this.state === "gone") return;
		if (this.state === "new") {
			// One that is too old does not know the command.
			return this.giveUp(`${program} does not start (${why}): run ${install}, and restart pi`);
		}
		const wait = this.waits.restarts[this.restarts++];
		if (wait === undefined) {
			return this.giveUp(`${program} has ended ${this.restarts} times (${why}): restart pi, and if it ends again, run ${install}`);
		}
		this.state = "away";
		const again = () => this.start().catch((error) => this.giveUp(`${message(error)}: run ${install}, and restart pi`));
		this.restart = setTimeout(again, wait);
		this.restart.unref();
	}

	private giveUp(why: string): void {
		if (this.state === "gone") return;
		this.state = "gone";
		this.absent = why;
		if (this.child) release(this.child);
		this.child = undefined;
		this.forget(why);
		this.client.gone(`Pemmican: ${why}; ${meanwhile}.`);
		this.wake();
	}

	private forget(why: string): void {
		for (const { reject } of [...this.waiting.values()]) reject(new Error(why));
		for (const controller of this.asking.values()) controller.abort();
		this.asking.clear();
	}
}

// release kills a process, and lets go of its pipes, which a process of its own may hold.
function release(child: ChildProcess): void {
	child.kill("SIGKILL");
	for (const pipe of child.stdio) pipe?.destroy();
	child.unref();
}

/** The message of whatever was thrown. */
export function message(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
