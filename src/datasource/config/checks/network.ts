const PLAIN = /^[A-Za-z0-9_-]+$/;
const PATTERN = /^[A-Za-z0-9_*?-]+$/;
const IPV4 = /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/;
const URL_PARTS = /^https?:\/\/(\[[0-9a-f:.]+\]|[^\s/:[\]%]+)?(?::(\d*))?(\/\S*)?$/i;
const WITH_PORT = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/;

/** The port of agents that are listed without one. */
export const AGENT_PORT = 9847;

/** What is wrong with the address of a Prometheus, if anything. */
export function prometheusUrlProblem(text: string): string | undefined {
  const problem = urlProblem(text, 'Prometheus', 'http://prometheus:9090');
  if (!problem && /\/metrics\/?$/.test(text.trim())) {
    return 'This is an exporter’s page. Write the address of the Prometheus that scrapes it.';
  }
  return problem;
}

/** What is wrong with the address of an Alertmanager, if anything. */
export function alertmanagerUrlProblem(text: string): string | undefined {
  return urlProblem(text, 'Alertmanager', 'http://alertmanager:9093');
}

function urlProblem(text: string, whose: string, example: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') {
    return `Write the address of ${whose}, such as ${example}.`;
  }
  if (trimmed.includes('@')) {
    return 'Take the user and the password out of the URL, and choose basic authentication.';
  }
  if (!/^https?:\/\//i.test(trimmed)) {
    return 'Begin with http:// or https://.';
  }
  if (/[?#]/.test(trimmed)) {
    return 'Keep what stands before ? and #.';
  }
  return partsProblem(URL_PARTS.exec(trimmed), example);
}

function partsProblem(parts: RegExpExecArray | null, example: string): string | undefined {
  if (!parts || /%(?![0-9a-f]{2})/i.test(parts[3] ?? '')) {
    return `Write something like ${example}.`;
  }
  if (!parts[1]) {
    return `Name a host: write something like ${example}.`;
  }
  return parts[2] && !isPort(parts[2]) ? 'Write a port from 1 to 65535.' : undefined;
}

/** What is wrong with an entry of the allow-list, if anything: a host as below, with or without a port. */
export function allowProblem(text: string): string | undefined {
  const entry = text.trim();
  const ports = 'with or without a port';
  const [, bracketed, plain, port] = WITH_PORT.exec(entry) ?? [];
  const host = bracketed?.includes(':') ? bracketed : plain;
  if (host === undefined || port.startsWith('/')) {
    return hostProblem(entry, ports);
  }
  return isPort(port)
    ? hostProblem(host, ports)
    : `“${hidden(entry)}” has no port after the colon: write one from 1 to 65535, such as node-1:${AGENT_PORT}.`;
}

/** What is wrong with a host, a pattern for hosts, an address or a network, if anything. */
export function hostProblem(text: string, ports = 'without a port'): string | undefined {
  const host = text.trim();
  if (host.includes('/')) {
    return isNetwork(host)
      ? undefined
      : `“${hidden(host)}” is not a network: write something like 10.0.0.0/8, or a host without scheme and path.`;
  }
  if (
    isAddress(host) ||
    host
      .replace(/\.$/, '')
      .split('.')
      .every((label) => PATTERN.test(label))
  ) {
    return undefined;
  }
  return `“${hidden(host)}” is not a host: write a name, *.domain, an address or a network, ${ports}.`;
}

/** What is wrong with the address of an agent, if anything. */
export function agentAddressProblem(text: string): string | undefined {
  const address = text.trim();
  if (address !== '' && !/[/@\s:]/.test(address)) {
    return undefined;
  }
  return isAddress(address) ? undefined : hostPortProblem(address, `node-1.example.com:${AGENT_PORT}`);
}

/** What is wrong with `host:port`, if anything. */
export function hostPortProblem(text: string, example: string): string | undefined {
  const [, bracketed, plain, port] = WITH_PORT.exec(text.trim()) ?? [];
  const host = bracketed ?? plain ?? '';
  if (host !== '' && !/[/@\s]/.test(host) && isPort(port)) {
    return undefined;
  }
  return text.trim() === ''
    ? `Write something like ${example}.`
    : `“${hidden(text)}” is not host:port: write something like ${example}.`;
}

/** What is wrong with a name whose records are agents, if anything. */
export function dnsProblem(text: string): string | undefined {
  const example = 'dnssrv+_warpwatch._tcp.example.com';
  const [kind, rest] = splitKind(text.trim());
  if (text.trim() === '') {
    return `Write something like ${example}.`;
  }
  if (kind === 'dns') {
    return agentAddressProblem(rest);
  }
  if (kind !== 'dnssrv' && kind !== 'dnssrvnoa') {
    return 'Write dns+host:port, dnssrv+name or dnssrvnoa+name.';
  }
  const [, , name, port] = WITH_PORT.exec(rest) ?? [];
  const host = name ?? rest;
  const right =
    host
      .replace(/\.$/, '')
      .split('.')
      .every((label) => PLAIN.test(label)) &&
    (port === undefined || isPort(port));
  return right ? undefined : `“${hidden(text)}” is not a name in DNS: write something like ${example}.`;
}

/** A name without a way to look it up is that of SRV records. */
function splitKind(name: string): [kind: string, rest: string] {
  const at = name.indexOf('+');
  return at < 0 ? ['dnssrvnoa', name] : [name.slice(0, at), name.slice(at + 1)];
}

function isPort(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

function isAddress(text: string): boolean {
  const bare = text.replace(/^\[|\]$/g, '');
  return IPV4.test(bare) || isIPv6(bare);
}

function isIPv6(text: string): boolean {
  if (!/^[0-9a-f:.]+$/i.test(text) || !text.includes(':')) {
    return false;
  }
  try {
    return new URL(`http://[${text}]`).host !== '';
  } catch {
    return false;
  }
}

function isNetwork(text: string): boolean {
  const [, address, bits] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  if (address === undefined) {
    return false;
  }
  return IPV4.test(address) ? Number(bits) <= 32 : isIPv6(address) && Number(bits) <= 128;
}

/** Hides what may be credentials in an address. */
function hidden(text: string): string {
  const at = text.lastIndexOf('@');
  return at < 0 ? text : `…${text.slice(at)}`;
}
