// The console of live objects. It uses the public routes alone, with the rights of the token that is entered.
//
// What members say is shown as text, never as HTML: names and values are anybody's. Results are shown as they came, so that
// no digit of a number is lost.
'use strict';

const $ = (id) => document.getElementById(id);
const PAGE = 200;
const EVENTS_MAX = 200;
const WAITS_MAX = 2000;
const REFRESH_MS = 2000;

/** Types by name, as `GET /v1/types` describes them. */
let types = new Map();
/** What is shown, and what ends with it. */
let shown = null;
/** Where the list goes on. */
let after = null;
/** The numbers of commands of the session that is entered: the first one, the next one, and those that are not answered. */
let numbers = { first: 1, next: 1 };
const open = new Set();

class Refused extends Error {}

/** An element with text or children. */
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const path = (object) => `/v1/objects/${encodeURIComponent(object.type)}/${encodeURIComponent(object.name)}`;

function headers() {
  const token = sessionStorage.getItem('token');
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/**
 * Commands of a session are numbered from the time on: a program that has the session, and another window, has other numbers. One
 * that was used before would be answered what it was answered then.
 */
function beginNumbers() {
  const first = Date.now() * 1000 + Math.floor(Math.random() * 1000);
  numbers = { first, next: first };
  open.clear();
  sessionStorage.setItem('numbers', JSON.stringify(numbers));
}

/**
 * A command of the session that is entered has a number. What was answered before the oldest open one is acknowledged, but no
 * number of another client of the session.
 */
function numbered(fields) {
  const session = sessionStorage.getItem('session');
  if (!session) return null;
  const number = numbers.next++;
  sessionStorage.setItem('numbers', JSON.stringify(numbers));
  open.add(number);
  const last = Math.min(...open) - 1;
  const acknowledged = last >= numbers.first ? `0, ${numbers.first}-${last}` : '0';
  Object.assign(fields, { 'Diwan-Session': session, 'Diwan-Request': String(number), 'Diwan-Acknowledged': acknowledged });
  return number;
}

const BYTES = 'application/octet-stream';

/** Bytes for people: as text if they are some, otherwise in hexadecimal digits. */
function shownBytes(buffer) {
  const bytes = new Uint8Array(buffer);
  try {
    return `${bytes.length} bytes: ${new TextDecoder('utf-8', { fatal: true }).decode(bytes)}`;
  } catch {
    const digits = Array.from(bytes.subarray(0, 1024), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    return `${bytes.length} bytes: ${digits}${bytes.length > 1024 ? ' ..' : ''}`;
  }
}

/** Asks a member. Gives the text of its answer; a problem is thrown. A body that is no text is bytes. */
async function ask(method, target, { body, signal, isCommand = false } = {}) {
  const fields = headers();
  if (body !== undefined) fields['Content-Type'] = typeof body === 'string' ? 'application/json' : BYTES;
  const number = isCommand ? numbered(fields) : null;
  const response = await fetch(target, { method, headers: fields, body, signal, cache: 'no-store' });
  const isBytes = response.headers.get('content-type') === BYTES;
  const text = isBytes ? shownBytes(await response.arrayBuffer()) : await response.text();
  open.delete(number);
  const session = response.headers.get('diwan-session');
  if (session) useSession(session);
  if (response.ok) return text;
  let detail = text;
  try {
    const problem = JSON.parse(text);
    detail = `${String(problem.type).split(':').pop()}: ${problem.detail}`;
  } catch {
    // It is no JSON: it is shown as it is.
  }
  throw new Refused(`${response.status} ${detail}`);
}

const get = async (target) => JSON.parse(await ask('GET', target));

/** Runs something, and shows why it failed. */
async function trying(work) {
  $('problem').hidden = true;
  try {
    return await work();
  } catch (error) {
    if (error.name === 'AbortError') return undefined;
    const text = error instanceof Refused ? error.message : `the member does not answer: ${error.message}`;
    $('problem').textContent = text;
    $('problem').hidden = false;
    return undefined;
  }
}

function useSession(session) {
  if (session === sessionStorage.getItem('session')) return;
  sessionStorage.setItem('session', session);
  beginNumbers();
  $('session').value = session;
}

/** Asks a person before something is done that cannot be taken back. */
function sure(text) {
  $('sure-text').textContent = text;
  const dialog = $('sure');
  dialog.returnValue = 'no';
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener('close', () => done(dialog.returnValue === 'yes'), { once: true });
  });
}

async function showGroup() {
  const group = (await get('/v1/groups')).groups[0];
  $('group').textContent =
    `${group.objects} objects, ${group.sessions} sessions, ${group.waiting} calls wait; member ${group.member} at position ${group.position}`;
}

async function loadTypes() {
  types = new Map((await get('/v1/types')).types.map((type) => [type.name, type]));
  const chosen = $('type').value;
  const options = [...types.keys()].map((name) => element('option', { value: name, textContent: name }));
  $('type').replaceChildren(element('option', { value: '', textContent: 'all' }), ...options);
  $('type').value = types.has(chosen) ? chosen : '';
}

async function list(isMore) {
  const query = new URLSearchParams({ prefix: $('prefix').value, limit: String(PAGE) });
  if ($('type').value) query.set('type', $('type').value);
  if (isMore && after) query.set('after', after);
  const page = await get(`/v1/objects?${query}`);
  after = page.next;
  $('more').hidden = !after;
  const wanted = page.objects.filter((object) => !$('waiting').checked || object.waiting > 0);
  const entries = wanted.map((object) => {
    const count = object.waiting > 0 ? [element('span', { className: 'count', textContent: `${object.waiting} wait` })] : [];
    const button = element('button', { type: 'button' }, ...count, `${object.type}/${object.name}`);
    button.addEventListener('click', () => {
      location.hash = `${encodeURIComponent(object.type)}/${encodeURIComponent(object.name)}`;
    });
    button.dataset.object = `${object.type}/${object.name}`;
    return element('li', {}, button);
  });
  if (isMore) $('objects').append(...entries);
  else $('objects').replaceChildren(...entries);
  mark();
}

/** Marks in the list what is shown. */
function mark() {
  const current = shown && `${shown.object.type}/${shown.object.name}`;
  for (const button of $('objects').querySelectorAll('button')) {
    button.toggleAttribute('aria-current', button.dataset.object === current);
  }
}

/** Shows the object that the address names. */
function showAddressed() {
  const [type, name] = location.hash.slice(1).split('/').map(decodeURIComponent);
  if (type && name) show({ type, name });
}

/** A type's methods: a name, a kind, and the schemas of its arguments if they are known. */
function methodsOf(type) {
  if (type.built_in) {
    return type.methods.map((method) => ({ ...method, schemas: method.arguments.properties }));
  }
  return Object.entries(type.description?.methods ?? {}).map(([name, about]) => ({
    name,
    kind: about.kind ?? 'command',
    schemas: about.args?.properties,
    isRaw: (about.codec ?? type.description.codec) === 'raw',
  }));
}

/** A field of a form for an argument of that schema; `read` gives its JSON, or nothing. */
function field(name, schema) {
  if (schema?.type === 'boolean') {
    const input = element('select', {}, ...['', 'true', 'false'].map((value) => element('option', { value, textContent: value || '-' })));
    return { label: element('label', {}, `${name} `, input), read: () => input.value };
  }
  const isText = schema?.type === 'string';
  const isInteger = schema?.type === 'integer';
  const input = element(isText || isInteger ? 'input' : 'textarea', { placeholder: isText ? 'text' : isInteger ? 'integer' : 'JSON' });
  const read = () => {
    if (input.value === '') return '';
    if (isText) return JSON.stringify(input.value);
    if (isInteger && !/^-?\d+$/.test(input.value)) throw new Refused(`${name}: not an integer`);
    if (!isInteger) parsed(name, input.value);
    // As it was written: a number may have more digits than a browser keeps.
    return input.value;
  };
  return { label: element('label', {}, `${name} `, input), read };
}

function parsed(name, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused(`${name}: not JSON; a text has quotes`);
  }
}

/** A field for a method that takes bytes: a file, or none. */
function file() {
  const input = element('input', { type: 'file' });
  return { label: element('label', {}, 'bytes ', input), read: () => input.files[0] ?? new Blob([]) };
}

function formOf(object, method) {
  const known = method.schemas && !method.isRaw ? Object.entries(method.schemas).map(([name, schema]) => [name, field(name, schema)]) : null;
  const whole = known ? null : method.isRaw ? file() : field('arguments', { type: 'object' });
  const result = element('pre', { hidden: true });
  const cancel = element('button', { type: 'button', textContent: 'Cancel', hidden: true });
  const labels = known ? known.map(([, one]) => one.label) : [whole.label];
  const form = element('form', {}, ...labels, element('button', { textContent: 'Call' }), ' ', cancel, result);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    trying(async () => {
      const fields = known?.map(([name, one]) => [name, one.read()]).filter(([, json]) => json !== '');
      const body = known ? `{${fields.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}` : whole.read() || '{}';
      const isDangerous = method.name === 'steal' || method.name === 'clear';
      if (isDangerous && !(await sure(`Call ${method.name} of ${object.type}/${object.name}?`))) return;
      const abort = new AbortController();
      const isCommand = !method.kind.startsWith('query');
      const keeps = isCommand && sessionStorage.getItem('session') !== null;
      cancel.textContent = keeps ? 'Stop waiting here' : 'Cancel';
      cancel.hidden = false;
      cancel.onclick = () => {
        abort.abort();
        result.textContent = keeps
          ? 'The answer is not waited for any more. The call has a session, so it goes on: what it gets the session holds.'
          : 'It is cancelled, if it was waiting.';
        result.hidden = false;
      };
      try {
        result.textContent = await ask('POST', `${path(object)}/${encodeURIComponent(method.name)}`, { body, signal: abort.signal, isCommand });
        result.hidden = false;
      } finally {
        cancel.hidden = true;
      }
      await refresh();
    });
  });
  return element('details', {}, element('summary', {}, `${method.name} `, element('small', { textContent: method.isRaw ? `${method.kind}, bytes` : method.kind })), form);
}

function rows(described) {
  const cells = (name, value) => element('tr', {}, element('th', { textContent: name }), element('td', { textContent: value }));
  const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
  return element('table', {}, ...Object.entries(described).map(([name, value]) => cells(name, text(value))));
}

function action(name, text, work) {
  const button = element('button', { type: 'button', textContent: name, className: 'danger' });
  button.addEventListener('click', () => trying(async () => {
    if (await sure(text)) await work();
  }));
  return button;
}

function actions(object, type) {
  const whole = `${object.type}/${object.name}`;
  const care = (what, body) => async () => {
    await ask('POST', `${path(object)}:${what}`, { body: JSON.stringify(body) });
    await refresh();
  };
  const all = [
    action('Delete', `Delete ${whole}? Who waits for it is told, and its holders hold nothing any more.`, async () => {
      await ask('DELETE', path(object));
      history.replaceState(null, '', location.pathname);
      leave('It is deleted.');
      await list(false);
    }),
  ];
  if (!type?.built_in) {
    all.push(action('Quarantine', `Have ${whole} run nothing until it is released?`, care('quarantine', { reason: 'from the console' })));
    all.push(action('Release', `Have ${whole} run again?`, care('release', {})));
    all.push(action('Roll back', `Take ${whole} back to the version before its migration? If commands would be lost nothing is done.`, care('rollback', {})));
  }
  return element('div', { className: 'actions' }, ...all);
}

function versions(type) {
  if (!type || type.built_in) return [];
  const cells = (...values) => element('tr', {}, ...values.map((value) => element('td', { textContent: value })));
  const entries = type.versions.map((one) => cells(one.version.slice(0, 12), one.state, `${one.objects} objects`));
  return [element('h2', { textContent: 'Versions of its type' }), element('table', {}, ...entries)];
}

/** A session for people: the beginning of its id, and its name. Otherwise the principal. */
function who(one) {
  if (!one.session) return one.principal;
  return one.session_name ? `${one.session.slice(0, 8)} (${one.session_name})` : one.session.slice(0, 8);
}

/** Types whose holders are waited for, and whether one of several that gives something back is enough. */
const HELD = new Map([['lock', false], ['rwlock', false], ['semaphore', true]]);

/**
 * Sessions that wait for each other: lists of {session, object, holder}. A session that waits for nothing is free, and so is who
 * waits for what only free sessions hold; from each other one a walk comes back to itself.
 */
function cyclesOf(objects) {
  const stuck = new Map();
  const behind = new Map();
  const added = (map, key) => map.get(key) ?? map.set(key, new Set()).get(key);
  for (const object of objects.filter((one) => HELD.has(one.type))) {
    const isOneEnough = HELD.get(object.type);
    for (const call of object.calls.filter((one) => one.for === 'holders' && one.session)) {
      const holders = new Set(object.holders.map((one) => one.session).filter((id) => id !== call.session));
      if (!holders.size || (isOneEnough && object.more_holders)) continue;
      const wait = { session: call.session, object, holders, left: isOneEnough ? 1 : holders.size };
      added(stuck, call.session).add(wait);
      holders.forEach((holder) => added(behind, holder).add(wait));
    }
  }
  const free = [...behind.keys()].filter((session) => !stuck.has(session));
  while (free.length) {
    for (const wait of behind.get(free.pop()) ?? []) {
      wait.left -= 1;
      const calls = stuck.get(wait.session);
      if (wait.left > 0 || !calls?.delete(wait) || calls.size) continue;
      stuck.delete(wait.session);
      free.push(wait.session);
    }
  }
  const [seen, cycles] = [new Set(), []];
  for (const first of stuck.keys()) {
    const way = [];
    let session = first;
    while (!seen.has(session)) {
      seen.add(session);
      const wait = [...stuck.get(session)][0];
      const holder = [...wait.holders].find((id) => stuck.has(id));
      way.push({ session, object: wait.object, holder });
      session = holder;
    }
    const begin = way.findIndex((step) => step.session === session);
    if (begin >= 0) cycles.push(way.slice(begin));
  }
  return cycles;
}

/** Shows the objects for which calls wait, these calls and who holds them, and sessions that wait for each other. */
async function showWaits() {
  const objects = [];
  let next = null;
  do {
    const query = new URLSearchParams({ prefix: $('prefix').value, limit: String(PAGE) });
    if ($('type').value) query.set('type', $('type').value);
    if (next) query.set('after', next);
    const page = await get(`/v1/waits?${query}`);
    objects.push(...page.objects);
    next = page.next;
  } while (next && objects.length < WAITS_MAX);
  leave('');
  const time = (ms) => (ms === null ? '-' : new Date(ms).toISOString().slice(0, 19).replace('T', ' '));
  const cells = (kind, values) => element('tr', {}, ...values.map((value) => element(kind, { textContent: value })));
  const rows = objects.flatMap((object) => {
    const held = object.holders.slice(0, 5).map((one) => `${who(one)}${one.fence ? `, fence ${one.fence}` : `, a ${one.holds}`}`);
    if (object.holders.length > 5 || object.more_holders) held.push('and more');
    const calls = object.calls.map((call, index) => [
      `${object.type}/${object.name}`, call.ticket, call.method ?? '-', who(call), time(call.since_ms), time(call.until_ms), index ? '' : held.join('; '),
    ]);
    return object.more_calls ? [...calls, [`${object.type}/${object.name}`, `and ${object.more_calls} more`]] : calls;
  });
  const names = new Map(objects.flatMap((object) => [...object.calls, ...object.holders]).map((one) => [one.session, who(one)]));
  const cycles = cyclesOf(objects).map((cycle) => {
    const steps = cycle.map((step) => ` waits for ${step.object.type}/${step.object.name} of ${names.get(step.holder)}`);
    return element('li', { textContent: `${names.get(cycle[0].session)}${steps.join(', which')}` });
  });
  const head = cells('th', ['Object', 'Ticket', 'Method', 'Caller', 'Since (UTC)', 'Until (UTC)', 'Held by']);
  $('main').replaceChildren(
    element('h2', { textContent: 'Who waits for whom' }),
    ...(next ? [element('p', { textContent: `Only the first ${objects.length} objects are shown: choose a type or a prefix.` })] : []),
    rows.length ? element('table', { id: 'waiting-calls' }, head, ...rows.map((row) => cells('td', row))) : element('p', { textContent: 'No call waits.' }),
    ...(cycles.length ? [element('h2', { textContent: 'Sessions that wait for each other' }), element('ul', { id: 'cycles' }, ...cycles)] : []),
  );
}

function leave(text) {
  shown?.abort.abort();
  shown = null;
  mark();
  $('main').replaceChildren(element('p', { textContent: text }));
}

function show(object) {
  leave('');
  const type = types.get(object.type);
  const methods = type ? methodsOf(type) : [];
  const plain = methods.filter((method) => method.kind === 'query' && !Object.keys(method.schemas ?? {}).length);
  const description = element('div');
  const state = element('div');
  const events = element('ul');
  shown = { object, description, state, plain, abort: new AbortController() };
  $('main').replaceChildren(
    element('h2', { textContent: `${object.type}/${object.name}` }),
    description,
    actions(object, type),
    element('h2', { textContent: 'State' }),
    state,
    element('h2', { textContent: 'Methods' }),
    ...methods.map((method) => formOf(object, method)),
    ...versions(type),
    element('h2', { textContent: 'Events' }),
    events,
  );
  mark();
  trying(refresh);
  follow(object, events, shown.abort.signal);
}

/** Shows again what is shown: its description, and what its queries without arguments give. */
async function refresh() {
  const now = shown;
  if (!now) return;
  const described = await get(path(now.object));
  const answers = await Promise.all(now.plain.map(async (method) => {
    const text = await ask('GET', `${path(now.object)}/${encodeURIComponent(method.name)}`).catch((error) => error.message);
    return [method.name, text];
  }));
  if (now !== shown) return;
  now.description.replaceChildren(rows(described));
  now.state.replaceChildren(...answers.map(([name, text]) => element('pre', { textContent: `${name}  ${text}` })));
}

/** Shows an object's events as they come. A browser's own reader of events cannot send a token. */
async function follow(object, into, signal) {
  const show = (text) => {
    into.prepend(element('li', { textContent: text }));
    while (into.children.length > EVENTS_MAX) into.lastChild.remove();
  };
  try {
    const response = await fetch(`${path(object)}/events`, { headers: headers(), signal });
    if (!response.ok) return show(`no events: ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return show('the stream of events has ended');
      const pieces = (rest + value).split('\n\n');
      rest = pieces.pop();
      for (const piece of pieces) {
        const line = (name) => piece.split('\n').find((text) => text.startsWith(`${name}: `))?.slice(name.length + 2);
        if (line('event')) {
          show(`${line('id') ?? ''} ${line('event')} ${line('data') ?? ''}`);
          refresh().catch(() => {});
        }
      }
    }
  } catch (error) {
    if (error.name !== 'AbortError') show(`the stream of events has ended: ${error.message}`);
  }
}

const begin = () => trying(async () => {
  await showGroup();
  await loadTypes();
  await list(false);
  if (!shown) showAddressed();
});

$('who').addEventListener('submit', (event) => {
  event.preventDefault();
  for (const name of ['token', 'session']) {
    const value = $(name).value.trim();
    if (name === 'session' && value !== (sessionStorage.getItem(name) ?? '')) beginNumbers();
    if (value) sessionStorage.setItem(name, value);
    else sessionStorage.removeItem(name);
  }
  begin();
});
$('filter').addEventListener('submit', (event) => {
  event.preventDefault();
  trying(() => list(false));
});
window.addEventListener('hashchange', () => trying(async () => showAddressed()));
$('waits').addEventListener('click', () => trying(showWaits));
$('more').addEventListener('click', () => trying(() => list(true)));
$('create').addEventListener('submit', (event) => {
  event.preventDefault();
  trying(async () => {
    const [type, ...rest] = $('new-name').value.split('/');
    if (!type || !rest.length) throw new Refused('an object is written TYPE/NAME');
    const object = { type, name: rest.join('/') };
    const body = $('new-arguments').value.trim() || '{}';
    parsed('arguments', body);
    await ask('PUT', path(object), { body });
    await list(false);
    location.hash = `${encodeURIComponent(type)}/${encodeURIComponent(object.name)}`;
  });
});
for (const name of ['token', 'session']) $(name).value = sessionStorage.getItem(name) ?? '';
const kept = sessionStorage.getItem('numbers');
if (kept) numbers = JSON.parse(kept);
else beginNumbers();
setInterval(() => {
  if (!document.hidden) showGroup().then(refresh).catch(() => {});
}, REFRESH_MS);
begin();
