/** Series in the words of people, and which of them answer a question. */

const UNITS = ["N", "Nm", "J", "m", "mps", "radps", "radps2", "rad", "s", "ns", "Pa", "V", "A", "mps2"];
const WORDS = { t_ns: "time of the run", effective_kinetic_energy_J: "T_c, effective kinetic energy", force_sum_N: "sum of the forces" };
const CAPITALS = { daq: "DAQ", imu: "IMU", sd: "standard deviation" };

/** A series without its unit and with spaces: daq_age_ns is "DAQ age", normal_force_N/front_left "normal force, front left". */
export function labelOf(name) {
  const [field, ...element] = name.split("/");
  return [WORDS[field] ?? inWords(field), ...element.map((one) => one.replaceAll("_", " "))].join(", ");
}

function inWords(field) {
  const parts = field.split("_");
  if (parts.length > 1 && UNITS.includes(parts.at(-1))) parts.pop();
  return parts.map((part) => CAPITALS[part] ?? part).join(" ");
}

const QUESTIONS = [
  ["How hard was the impact?", ["force_sum_N", "force_N", "speed_mps"]],
  ["Does it drive as commanded?", ["speed_mps", "wheel_speed_radps", "set_speed_radps"]],
  ["Do the joints follow?", ["set_servo_angle_rad", "servo_angle_rad", "servo_torque_Nm"]],
  ["How are the wheels loaded?", ["normal_force_N", "load_wanted_N", "wheel_load_N"]],
  ["Do the wheels slip or sink?", ["slip", "sinkage_m"]],
  ["What does the air do?", ["pressure_Pa", "pressure_wanted_Pa", "valves"]],
  ["Does the rover move as estimated?", ["innovation", "speed_mps", "speed_sd_mps", "source"]],
  ["Is the data in time?", ["daq_age_ns", "load_age_ns"]],
  ["What do the drives draw?", ["current_A", "supply_V"]],
];

/** The questions that a rig's series answer, each with those series, `most` of them at most. */
export function questionsFor(names, most) {
  return QUESTIONS.map(([question, fields]) => [question, fields.flatMap((field) => names.filter((name) => name.split("/")[0] === field)).slice(0, most)])
    .filter(([, found]) => found.length);
}
