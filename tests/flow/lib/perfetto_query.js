#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// perfetto_query.js - asks Perfetto's own trace processor about a trace
//
// usage: node perfetto_query.js WEB_DIST TRACE SQL...
//
// WEB_DIST is a folder of Perfetto's web UI that holds engine_bundle.js and
// trace_processor.wasm. The bundle is written for a browser's worker: it is given what it
// expects of one, a message port and a synchronous XMLHttpRequest. Prints one JSON array of
// rows for each query. Exits 1 with a message when the trace or a query is refused.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [webDist, tracePath, ...queries] = process.argv.slice(2);

// ---- protobuf: what the protocol of the trace processor needs of it ----

function varint(v)
{
	const out = [];

	for (; v >= 128; v = Math.floor(v / 128))
		out.push(v % 128 | 128);
	out.push(v);
	return Buffer.from(out);
}

function bytesField(id, bytes)
{
	return Buffer.concat([varint(id * 8 + 2), varint(bytes.length), bytes]);
}

function intField(id, v)
{
	return Buffer.concat([varint(id * 8), varint(v)]);
}

function readVarint(buf, at)
{
	let v = 0n, shift = 0n;

	for (;; shift += 7n) {
		const byte = buf[at++];

		v |= BigInt(byte & 127) << shift;
		if (byte < 128)
			return [BigInt.asIntN(64, v), at];
	}
}

// Fields of a message, in order: [id, BigInt or Buffer].
function fields(buf)
{
	const out = [];

	for (let at = 0, key, v; at < buf.length;) {
		[key, at] = readVarint(buf, at);
		const id = Number(key >> 3n), type = Number(key & 7n);

		if (type === 0) {
			[v, at] = readVarint(buf, at);
		} else if (type === 1) {
			v = buf.subarray(at, at += 8);
		} else if (type === 2) {
			[v, at] = readVarint(buf, at);
			v = buf.subarray(at, at += Number(v));
		} else {
			v = buf.subarray(at, at += 4);
		}
		out.push([id, v]);
	}
	return out;
}

// ---- a QueryResult's batches of cells -> rows ----

function packedVarints(buf)
{
	const out = [];

	for (let at = 0, v; at < buf.length;) {
		[v, at] = readVarint(buf, at);
		out.push(v);
	}
	return out;
}

class Result {
	columns = [];
	cells = [];
	error = '';
	isOver = false;

	add(buf)
	{
		for (const [id, v] of fields(buf)) {
			if (id === 1)
				this.columns.push(v.toString());
			else if (id === 2)
				this.error = v.toString();
			else if (id === 3)
				this.addBatch(v);
		}
	}

	addBatch(buf)
	{
		let kinds = [], ints = [], doubles = [], strings = [];

		for (const [id, v] of fields(buf)) {
			if (id === 1)
				kinds = kinds.concat(packedVarints(v).map(Number));
			else if (id === 2)
				ints = ints.concat(packedVarints(v));
			else if (id === 3)
				for (let i = 0; i < v.length; i += 8)
					doubles.push(v.readDoubleLE(i));
			else if (id === 5)
				strings = v.toString().split('\0');
			else if (id === 6)
				this.isOver = v !== 0n;
		}
		for (const kind of kinds)
			this.cells.push(kind === 2 ? Number(ints.shift())
					: kind === 3 ? doubles.shift()
					: kind === 4 ? strings.shift() : null);
	}

	rows()
	{
		const out = [], n = this.columns.length;

		for (let i = 0; n && i < this.cells.length; i += n)
			out.push(Object.fromEntries(this.columns.map((c, k) => [c, this.cells[i + k]])));
		return out;
	}
}

// ---- the worker ----

class Request {
	open(method, url)
	{
		this.url = url;
	}

	send()
	{
		const bytes = fs.readFileSync(path.join(webDist, path.basename(this.url)));

		this.status = 200;
		this.response = bytes.buffer.slice(bytes.byteOffset,
						   bytes.byteOffset + bytes.byteLength);
	}
}

function startWorker()
{
	const worker = {location: {href: 'http://localhost/engine_bundle.js'}};
	// The bundle must not find out that it runs under node.
	const context = vm.createContext({
		self: worker, WorkerGlobalScope: function() {}, importScripts() {},
		XMLHttpRequest: Request, WebAssembly, TextDecoder, TextEncoder, URL, performance,
		setTimeout, clearTimeout, crypto: globalThis.crypto, BigInt64Array, Uint8Array,
		ArrayBuffer, SharedArrayBuffer, fetch: undefined,
		// WebAssembly throws those of this realm, the bundle asks for its own.
		TypeError, Error, RangeError,
		console: {log() {}, error() {}, warn() {}, info() {}, debug() {}},
	});

	worker.self = worker;
	context.globalThis = context;
	context.location = worker.location;
	vm.runInContext(fs.readFileSync(path.join(webDist, 'engine_bundle.js'), 'utf8'), context);
	return worker;
}

function fail(what)
{
	process.stderr.write(`perfetto_query.js: ${what}\n`);
	process.exit(1);
}

async function main()
{
	let waiting = null, pending = Buffer.alloc(0), sequence = 0;
	const worker = startWorker();
	const port = {
		postMessage(data) {
			pending = Buffer.concat([pending, Buffer.from(data)]);
			for (;;) {
				let n, at;

				if (pending.length < 2)
					return;
				try {
					[n, at] = readVarint(pending, 1);
				} catch {
					return;
				}
				if (pending.length < at + Number(n))
					return;
				waiting(pending.subarray(at, at + Number(n)));
				pending = pending.subarray(at + Number(n));
			}
		},
	};

	worker.onmessage({data: port});
	const send = (method, args) => {
		const rpc = Buffer.concat([intField(1, sequence++), intField(2, method),
					   args || Buffer.alloc(0)]);

		port.onmessage({data: new Uint8Array(bytesField(1, rpc))});
	};
	const answer = (method, args) => new Promise((resolve) => {
		waiting = (rpc) => resolve(fields(rpc));
		send(method, args);
	});
	const errorOf = (rpc, id) => rpc.filter((f) => f[0] === id).flatMap((f) => fields(f[1]))
		.filter((f) => f[0] === 2 && f[1].length).map((f) => f[1].toString()).join('; ');

	// The module compiles itself asynchronously.
	await new Promise((resolve) => setTimeout(resolve, 100));
	const trace = fs.readFileSync(tracePath);
	for (let at = 0; at < trace.length; at += 1 << 24) {
		const rpc = await answer(1, bytesField(101, trace.subarray(at, at + (1 << 24))));
		const error = errorOf(rpc, 201);

		if (error)
			fail(`'${tracePath}' is refused: ${error}`);
	}
	const error = errorOf(await answer(2), 212);
	if (error)
		fail(`'${tracePath}' is refused at its end: ${error}`);

	for (const sql of queries) {
		const result = new Result();

		await new Promise((resolve) => {
			waiting = (rpc) => {
				for (const [id, v] of fields(rpc)) {
					if (id === 203)
						result.add(v);
					else if (id === 5)
						fail(v.toString());
				}
				if (result.isOver || result.error)
					resolve();
			};
			send(3, bytesField(103, bytesField(1, Buffer.from(sql))));
		});
		if (result.error)
			fail(`${sql}: ${result.error}`);
		process.stdout.write(JSON.stringify(result.rows()) + '\n');
	}
	process.exit(0);
}

main().catch((e) => fail(e.stack));
