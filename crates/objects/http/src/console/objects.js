// The console of live objects. It uses the public routes alone, with the rights of the token that is entered.
//
// What members say is shown as text, never as HTML: names and values are anybody's. Results are shown as they came, so that
// no digit of a number is lost.
'use strict';

const $ = (id) => document.getElementById(id);
const PAGE = 200;
const EVENTS_MAX = 200;
const REFRESH_MS = 2000;

/** Types by name, as `GET /v1/types` describes them. */
let types = new Map();
/** What is shown, and what ends with it. */
let shown = null;
/** Where the list goes on. */
let after = null;
/** The number of the next command of the session that is entered, and those that are not answered. */
let request = 1;
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

/** A command of the session that is entered has a number; what was answered before the oldest open one is acknowledged. */
function numbered(fields) {
  const session = sessionStorage.getItem('session');
  if (!session) return null;
  const number = request++;
  open.add(number);
  const acknowledged = Math.min(...open) - 1;
  Object.assign(fields, { 'Diwan-Session': session, 'Diwan-Request': String(number), 'Diwan-Acknowledged': String(acknowledged) });
  return number;
}

/** Asks a member. Gives the text of its answer; a problem is thrown. */
async function ask(method, target, { body, signal, isCommand = false } = {}) {
  const fields = headers();
  if (body !== undefined) fields['Content-Type'] = 'application/json';
  const number = isCommand ? numbered(fields) : null;
  const response = await fetch(target, { method, headers: fields, body, signal, cache: 'no-store' });
  const text = await response.text();
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
  request = 1;
  open.clear();
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

function formOf(object, method) {
  const known = method.schemas ? Object.entries(method.schemas).map(([name, schema]) => [name, field(name, schema)]) : null;
  const whole = known ? null : field('arguments', { type: 'object' });
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
      cancel.hidden = false;
      cancel.onclick = () => abort.abort();
      try {
        const isCommand = !method.kind.startsWith('query');
        result.textContent = await ask('POST', `${path(object)}/${encodeURIComponent(method.name)}`, { body, signal: abort.signal, isCommand });
        result.hidden = false;
      } finally {
        cancel.hidden = true;
      }
      await refresh();
    });
  });
  return element('details', {}, element('summary', {}, `${method.name} `, element('small', { textContent: method.kind })), form);
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
    if (name === 'session' && value !== (sessionStorage.getItem(name) ?? '')) {
      request = 1;
      open.clear();
    }
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
setInterval(() => {
  if (!document.hidden) showGroup().then(refresh).catch(() => {});
}, REFRESH_MS);
begin();
