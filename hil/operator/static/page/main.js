/** The operator's page: one more client of the rig, with no power that a script has not. */

import { startBar } from "./bar.js";
import { startCampaign } from "./campaign.js";
import { Connection } from "./connection.js";
import { deviceSeries, startDevices } from "./devices.js";
import { Display } from "./display.js";
import { read } from "./dom.js";
import { liveSeries, startLive } from "./live.js";
import { startLog } from "./log.js";
import { startLoop } from "./loop.js";
import { motionSeries, startMotion } from "./motion.js";
import { Newest } from "./newest.js";
import { startOperate } from "./operate.js";
import { roverSeries, startRover } from "./rover.js";
import { startRuns } from "./runs.js";
import { startSettings } from "./settings.js";
import { startTraces, traceSeries } from "./traces.js";

export const connection = new Connection(); // also for who looks into the page from the console of its browser
const display = new Display(connection);
startBar(connection, display); // first of all: the stop works whatever else is missing
startLog(connection);
connection.open();

const config = await read("/api/config");
document.title = `${config.name} - rover rig`;
connection.on("status", ({ obstacle }) => Object.assign(config.obstacle ?? {}, obstacle)); // a trial may have another angle
const newest = new Newest(connection);
startOperate(connection, config, display);
startSettings(connection, config);
startLive(config, newest);
const replay = startRover(connection, config, newest);
const earlier = startTraces(connection, config, newest, [...traceSeries(config), ...liveSeries(config), ...roverSeries(config), ...deviceSeries(config), ...motionSeries(config)]);
const showTiming = startLoop(config);
const showTrials = startCampaign(connection, config);
startDevices(connection, config, newest);
startMotion(connection, config, newest);
startRuns(connection, config, (runs) => { earlier.offer(runs); showTrials(runs); }, showTiming, replay);
