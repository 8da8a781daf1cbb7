export const APP_ID = 'warpwatch-gpu-app';
export const DATA_SOURCE_ID = 'warpwatch-gpu-datasource';
