import { type AuthMethod, type Discovery, type NoticeLevel } from '../../types';
import { type Choice } from '../form/ChoiceSetting';

export const METHODS: Array<Choice<AuthMethod>> = [
  { value: 'none', label: 'None' },
  { value: 'basic', label: 'Basic' },
  { value: 'bearer', label: 'Bearer token' },
];

export const FORWARDING: Array<Choice<boolean>> = [
  { value: undefined, label: 'As the data source' },
  { value: true, label: 'Always', description: 'And nothing is asked where nobody is signed in' },
  { value: false, label: 'Never' },
];

export const SOCKS: Array<Choice<boolean>> = [
  { value: undefined, label: 'As the data source' },
  { value: true, label: 'Yes' },
  { value: false, label: 'No' },
];

export const ROLES: Array<Choice<string>> = [
  { value: undefined, label: 'None', description: 'Always asked; answers are merged' },
  { value: 'replica', label: 'Replica', description: 'Holds what the other replicas hold; one of them is asked' },
  { value: 'shard', label: 'Shard', description: 'Holds a part of the cluster; always asked' },
];

export const COMPRESSION: Array<Choice<string>> = [
  { value: 'auto', label: 'Auto', description: 'Unless the connection ends on loopback or in a private network' },
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off' },
];

export const LEVELS: Array<Choice<NoticeLevel>> = [
  { value: 'info', label: 'Info' },
  { value: 'warning', label: 'Warning' },
  { value: 'error', label: 'Error' },
];

export const DISCOVERIES: Array<Choice<Discovery>> = [
  {
    value: 'prometheus',
    label: 'By Prometheus',
    description: 'Agents that the clusters’ servers scrape, and those of the lists below',
  },
  { value: 'static', label: 'Listed here', description: 'Agents of the lists below only' },
  { value: 'off', label: 'Off', description: 'No live data' },
];

export const SCHEMES: Array<Choice<string>> = [
  { value: 'http', label: 'HTTP' },
  { value: 'https', label: 'HTTPS' },
];

export const CACHES: Array<Choice<string>> = [
  { value: undefined, label: 'None' },
  { value: 'memcached', label: 'Memcached' },
  { value: 'redis', label: 'Redis' },
];

export const CLASSES: Array<Choice<string>> = [
  { value: 'training', label: 'Training' },
  { value: 'inference', label: 'Inference' },
];
