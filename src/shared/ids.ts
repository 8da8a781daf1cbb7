export const APP_ID = 'warpwatch-gpu-app';
export const DATA_SOURCE_ID = 'warpwatch-gpu-datasource';
export const PANEL_ID = 'warpwatch-fleet-panel';
