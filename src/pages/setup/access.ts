import { config } from '@grafana/runtime';

/** What this page would have Grafana do, as Grafana's own permissions name it. */
export type Action = 'datasources:create' | 'datasources:read' | 'plugins:write';

/** Whether this user may do something. Where Grafana lists no permissions, administrators may. */
export function may(action: Action): boolean {
  const { permissions, orgRole, isGrafanaAdmin } = config.bootData.user;
  return permissions ? Boolean(permissions[action]) : isGrafanaAdmin || orgRole === 'Admin';
}
