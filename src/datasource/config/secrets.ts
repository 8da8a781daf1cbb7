import { type Options } from './options';

/** Prefix of the agents' secrets. */
export const AGENT_SECRETS = 'agents_';

/** Prefixes of the secrets of whatever has an id. */
export const endpointSecrets = (id: string) => `endpoint_${id}_`;
export const groupSecrets = (id: string) => `agentgroup_${id}_`;
export const alertmanagerSecrets = (id: string) => `alertmanager_${id}_`;

/** Key of the value of a header. */
export const headerSecret = (prefix: string, name: string) => `${prefix}header_${name}`;

/** The secrets of one owner; each is a key of secureJsonData after the owner's prefix. */
const NAMES = ['password', 'token', 'caCert', 'tlsClientCert', 'tlsClientKey'];

/** Whether a secret is stored, or typed and about to be. */
export function isSet(options: Options, key: string): boolean {
  return Boolean(options.secureJsonFields?.[key] || options.secureJsonData?.[key]);
}

/** The options with a secret as typed; it is stored when the page is saved. */
export function withSecret(options: Options, key: string, value: string): Options {
  return { ...options, secureJsonData: { ...options.secureJsonData, [key]: value } };
}

/** The options without a stored secret, so that another can be typed; saved like this, it is gone. */
export function withoutSecret(options: Options, key: string): Options {
  return {
    ...options,
    secureJsonFields: { ...options.secureJsonFields, [key]: false },
    secureJsonData: { ...options.secureJsonData, [key]: '' },
  };
}

/** The options without the secrets of an owner: an id that is handed out again must not find those of its former owner. */
export function forget(options: Options, prefix: string, headers: string[] = []): Options {
  return keysOf(prefix, headers)
    .filter((key) => isSet(options, key))
    .reduce(withoutSecret, options);
}

/** The options after an owner's prefix has changed. What is typed moves along; what is stored cannot be read, and is forgotten. */
export function rename(options: Options, from: string, to: string, headers: string[] = []): Options {
  const typed = options.secureJsonData ?? {};
  const moved = keysOf(from, headers)
    .filter((key) => typed[key])
    .reduce((current, key) => withSecret(current, to + key.slice(from.length), typed[key]), options);
  return forget(moved, from, headers);
}

function keysOf(prefix: string, headers: string[]): string[] {
  return [...NAMES.map((name) => prefix + name), ...headers.map((name) => headerSecret(prefix, name))];
}
